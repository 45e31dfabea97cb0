// Memory of `agent-eval serve`: idle, and after 10,000 judgements with 64 in flight.
// `node memory.mjs [--node PATH] [--calls N]`
import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { load, memoryMb, REQUEST, row, startEngine, startProvider } from './harness.mjs';

const SETTLE_MS = 1_000;
// Node -> MB that the server may use idle and after the calls.
const GOALS = { 20: [65, 105], 24: [80, 130] };

const { values } = parseArgs({
  options: {
    node: { type: 'string', default: process.execPath },
    calls: { type: 'string', default: '10000' },
  },
});

const provider = await startProvider();
const engine = await startEngine(values.node, provider.url);
const version = spawnSync(values.node, ['-p', 'process.versions.node'], { encoding: 'utf8' });
const [atMostIdle, atMostUsed] = GOALS[version.stdout.split('.')[0]] ?? [];

await (await fetch(`${engine.url}/healthz`)).text();
await sleep(SETTLE_MS);
row('server memory, idle', memoryMb(engine.pid).now, 'MB', { atMost: atMostIdle });
await load(engine.url, '/v1/judge', REQUEST, Number(values.calls));
const used = memoryMb(engine.pid);
row(`server memory, after ${values.calls} judgements`, used.now, 'MB', { atMost: atMostUsed });
row('server memory, highest', used.highest, 'MB');
await engine.stop();
await provider.stop();
