// A client process: makes the calls it is told to make and says what they cost it. Started by
// engine-throughput.mjs and memory.mjs, once as the load on the engine and once as the bare client.
import { createRequire } from 'node:module';

const require = createRequire(new URL('../packages/agent-eval/package.json', import.meta.url));
const { Pool } = require('undici');

const pools = new Map();

function poolOf(origin, connections) {
  const known = pools.get(origin) ?? new Pool(origin, { connections, pipelining: 1 });
  pools.set(origin, known);
  return known;
}

/** One call, whole: request, status, body, JSON. */
async function call(pool, path, body) {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-fake' };
  const reply = await pool.request({ method: 'POST', path, headers, body });
  const text = await reply.body.text();
  if (reply.statusCode !== 200)
    throw new Error(`status ${reply.statusCode}: ${text.slice(0, 200)}`);
  return JSON.parse(text);
}

async function run({ url, body, calls, inFlight }) {
  const { origin, pathname } = new URL(url);
  const pool = poolOf(origin, inFlight);
  let left = calls;
  const worker = async () => {
    while (left-- > 0) await call(pool, pathname, body);
  };
  const cpuBefore = process.cpuUsage();
  const started = performance.now();
  await Promise.all(Array.from({ length: inFlight }, worker));
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { seconds, perSecond: calls / seconds, cpuMs: (user + system) / 1000 };
}

process.on('message', async (job) => {
  try {
    process.send({ result: await run(job) });
  } catch (error) {
    process.send({ error: error.message });
  }
});
