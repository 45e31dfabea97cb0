// Memory of `agent-eval serve`: idle, and after 10,000 judgements with 64 in flight.
// usage: node bench/memory.mjs [--calls 10000] [--node PATH] [--json]
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startClient } from './clients.mjs';
import {
  JUDGE_REQUEST,
  majorOf,
  printRows,
  residentMb,
  row,
  startEngine,
  startProvider,
} from './processes.mjs';

const SETTLE_MS = 1000;
// Node -> MB that the server may hold idle, and after the calls.
const GOALS = { 20: [65, 105], 24: [80, 130] };

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000' },
    node: { type: 'string', default: process.execPath },
    json: { type: 'boolean', default: false },
  },
});

const provider = await startProvider();
const engine = await startEngine(provider.url, values.node);
const client = startClient();
try {
  await (await fetch(`${engine.url}/healthz`)).text();
  await sleep(SETTLE_MS);
  const idle = residentMb(engine.pid);
  const calls = Number(values.calls);
  await client.run({ url: `${engine.url}/v1/judge`, body: JUDGE_REQUEST, calls, inFlight: 64 });
  const used = residentMb(engine.pid);
  const major = majorOf(values.node);
  const [idleGoal, usedGoal] = GOALS[major] ?? [];
  printRows(
    [
      row(`Node ${major}: server memory, idle`, idle, 'MB', { atMost: idleGoal }),
      row(`Node ${major}: after ${calls} judgements`, used, 'MB', { atMost: usedGoal }),
    ],
    values.json,
  );
} finally {
  client.stop();
  await engine.stop();
  await provider.stop();
}
