// Judgements a second, and CPU of the engine process for each, against bare undici in the same run.
// `node engine-throughput.mjs [--node PATH] [--calls N] [--pairs N]`
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { cpuMs, load, median, REQUEST, row, startEngine, startProvider } from './harness.mjs';

const WARM_UP = 3_000;

const { values } = parseArgs({
  options: {
    node: { type: 'string', default: process.execPath },
    calls: { type: 'string', default: '10000' },
    pairs: { type: 'string', default: '5' },
  },
});
const calls = Number(values.calls);

async function startBare(node, providerUrl) {
  const file = fileURLToPath(new URL('bare-client.mjs', import.meta.url));
  const child = spawn(node, [file, providerUrl], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  const run = async (count) => {
    child.stdin.write(`${count}\n`);
    return JSON.parse((await lines.next()).value);
  };
  return { run, stop: () => child.stdin.end() };
}

async function engineRound(engine) {
  const before = cpuMs(engine.pid);
  const seconds = await load(engine.url, '/v1/judge', REQUEST, calls);
  return { perSecond: calls / seconds, cpu: (cpuMs(engine.pid) - before) / calls };
}

const provider = await startProvider();
const engine = await startEngine(values.node, provider.url);
await load(engine.url, '/v1/judge', REQUEST, WARM_UP);
const bare = await startBare(values.node, provider.url);
await bare.run(WARM_UP);

const rounds = [];
for (let pair = 0; pair < Number(values.pairs); pair += 1) {
  const judged = await engineRound(engine);
  const { cpuMs: total } = await bare.run(calls);
  rounds.push({ ...judged, bare: total / calls, ratio: (judged.cpu * calls) / total });
}
const middle = (key) => median(rounds.map((round) => round[key]));

row('judgements a second, 64 in flight', middle('perSecond'), '1/s', { atLeast: 3_000 });
row('CPU of the engine, a judgement', middle('cpu'), 'ms');
row('CPU of bare undici, a call', middle('bare'), 'ms');
row('the one by the other', middle('ratio'), 'times', { atMost: 5 });
bare.stop();
await engine.stop();
await provider.stop();
