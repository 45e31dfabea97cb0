// Judgements a second, and CPU of the engine for one judgement against CPU of a bare undici call of the
// payload that the engine sends. Both against the same instant provider, in turns.
// usage: node bench/engine-throughput.mjs [--calls 10000] [--warm-up 3000] [--pairs 5] [--node PATH] [--json]
import { parseArgs } from 'node:util';
import { startClient } from './clients.mjs';
import {
  cpuMs,
  JUDGE_REQUEST,
  median,
  printRows,
  row,
  startEngine,
  startProvider,
} from './processes.mjs';

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000' },
    'warm-up': { type: 'string', default: '3000' },
    pairs: { type: 'string', default: '5' },
    node: { type: 'string', default: process.execPath },
    json: { type: 'boolean', default: false },
  },
});
const calls = Number(values.calls);
const warmUp = Number(values['warm-up']);
const inFlight = 64;

const provider = await startProvider();
const engine = await startEngine(provider.url, values.node);
const [load, bare] = [startClient(), startClient(values.node)];

const judge = (count) =>
  load.run({ url: `${engine.url}/v1/judge`, body: JUDGE_REQUEST, calls: count, inFlight });
const completions = `${provider.url}/chat/completions`;

try {
  await judge(warmUp);
  const body = await (await fetch(provider.url.replace('/v1', '/last'))).text();
  const callBare = (count) => bare.run({ url: completions, body, calls: count, inFlight });
  await callBare(warmUp);

  const pairs = [];
  for (let index = 0; index < Number(values.pairs); index += 1) {
    const before = cpuMs(engine.pid);
    const judged = await judge(calls);
    const engineCpu = (cpuMs(engine.pid) - before) / calls;
    const bareCpu = (await callBare(calls)).cpuMs / calls;
    pairs.push({ perSecond: judged.perSecond, engineCpu, bareCpu, ratio: engineCpu / bareCpu });
    console.error(
      `pair ${index + 1}: ${judged.perSecond.toFixed(0)} judgements/s, ` +
        `CPU ${engineCpu.toFixed(3)} ms against ${bareCpu.toFixed(3)} ms`,
    );
  }
  const of = (field) => median(pairs.map((pair) => pair[field]));
  printRows(
    [
      row('judgements a second, 64 in flight', of('perSecond'), '/s', { atLeast: 4000 }),
      row('engine CPU of a judgement', of('engineCpu'), 'ms'),
      row('… in bare undici calls', of('ratio'), 'times', { atMost: 5 }),
    ],
    values.json,
  );
} finally {
  load.stop();
  bare.stop();
  await engine.stop();
  await provider.stop();
}
