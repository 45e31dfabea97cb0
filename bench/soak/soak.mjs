// Many judgements against an endpoint that fails now and then: counts what was lost, answered twice or scored
// wrong, and what the server held in memory before and after. Exits with 1 unless all three are 0.
// usage: node bench/soak/soak.mjs [--calls 200000] [--fault-share 0.05] [--seed 1] [--node PATH]
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { parseArgs } from 'node:util';
import { residentMb, startEngine, startProvider } from '../processes.mjs';
import { RUBRIC, scoreOf, textOf } from './items.mjs';

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '200000' },
    'fault-share': { type: 'string', default: '0.05' },
    seed: { type: 'string', default: '1' },
    node: { type: 'string', default: process.execPath },
  },
});
const calls = Number(values.calls);
const WARM_UP = Math.min(2_000, calls);

const provider = await startProvider(
  ['--fault-share', values['fault-share'], '--seed', values.seed],
  'bench/soak/faulty-provider.mjs',
);
const engine = await startEngine(provider.url, values.node);

function* lines(first, count) {
  for (let number = first; number < first + count; number += 1) {
    yield `${JSON.stringify({ id: number, rubric: RUBRIC, content: textOf(number) })}\n`;
  }
}

/** One batch over HTTP; tells each outcome as it comes. */
function batch(first, count, onOutcome) {
  return new Promise((resolve, reject) => {
    const sent = request(`${engine.url}/v1/judge/batch`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const reader = createInterface({ input: response });
      reader.on('line', (line) => onOutcome(JSON.parse(line)));
      reader.on('close', resolve);
      response.on('error', reject);
    });
    Readable.from(lines(first, count)).pipe(sent);
  });
}

const answers = new Uint8Array(WARM_UP + calls);
const unscored = {};
let twice = 0;
let wrong = 0;
function take({ id, outcome, result, error }) {
  if (answers[id] > 0) twice += 1;
  answers[id] = 1;
  if (outcome === 'scored') wrong += Number(result.dimensions.quality !== scoreOf(id));
  else unscored[error.code] = (unscored[error.code] ?? 0) + 1;
}

try {
  await batch(0, WARM_UP, take);
  const before = residentMb(engine.pid);
  const started = performance.now();
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, residentMb(engine.pid));
  }, 1_000);
  await batch(WARM_UP, calls, take);
  clearInterval(watch);
  const seconds = (performance.now() - started) / 1000;
  const { faults } = await (await fetch(provider.url.replace('/v1', '/counts'))).json();
  const lost = answers.reduce((count, seen) => count + Number(seen === 0), 0);
  const rows = {
    judgements: answers.length,
    'faults made': Object.values(faults).reduce((sum, count) => sum + count, 0),
    lost,
    duplicated: twice,
    'silently wrong': wrong,
    unscored: Object.values(unscored).reduce((sum, count) => sum + count, 0),
    'judgements a second': Math.round(calls / seconds),
    'memory, MB': `${before.toFixed(0)} at the start, ${residentMb(engine.pid).toFixed(0)} at the end, ${most.toFixed(0)} at most`,
  };
  for (const [name, value] of Object.entries(rows)) console.log(`${name}: ${value}`);
  for (const [code, count] of Object.entries(unscored)) console.log(`  ${code}: ${count}`);
  process.exitCode = lost + twice + wrong === 0 ? 0 : 1;
} finally {
  await engine.stop();
  await provider.stop();
}
