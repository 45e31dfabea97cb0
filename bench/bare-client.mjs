// The yardstick of engine-throughput.mjs: undici alone, posting what the engine sends. A process of its own,
// so that its CPU time is its own. Reads "CALLS" lines on stdin; answers each with {"cpuMs", "seconds"}.
import { createInterface } from 'node:readline';
import { load } from './harness.mjs';

const [url] = process.argv.slice(2);
const body = await (await fetch(url)).text();
const { origin, pathname } = new URL(url);

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const before = process.cpuUsage();
  const seconds = await load(origin, `${pathname}/chat/completions`, body, Number(line));
  const { user, system } = process.cpuUsage(before);
  process.stdout.write(`${JSON.stringify({ cpuMs: (user + system) / 1000, seconds })}\n`);
}
