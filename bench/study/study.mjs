// How well a small local model judges in each mode: labelled texts, the built engine, one model.
// Needs `agent-eval model fetch qwen2.5-coder-1.5b`. Answers are kept in --results and not asked for again.
// usage: node bench/study/study.mjs [--results FILE.json] [--threads 2] [--only MODE;…] [--report] [--write]
// --report asks nothing and prints the table of what is there; --write puts it into bench/study/results.md.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { cleanEnvironment, ENGINE, pathTo, startProvider } from '../processes.mjs';
import { MATCHED_TEXTS } from './matched-texts.mjs';
import { report, resultsPage } from './report.mjs';
import { openSession } from './session.mjs';
import { TEXTS } from './texts.mjs';

const MODEL = 'qwen2.5-coder-1.5b';
const { values } = parseArgs({
  options: {
    results: { type: 'string', default: pathTo('.tools/study.json') },
    threads: { type: 'string', default: '2' },
    only: { type: 'string' },
    report: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});

/** Each asks about one text, or about the two of a pair. */
const MODES = {
  checks: { local: true, params: {}, matched: true },
  text: { params: { scoreMode: 'text' } },
  // The slow ones see fewer texts: a reply takes a quarter of a minute.
  compare: { pairs: true, params: {}, pairsOf: 4 },
  logprobs: { params: { scoreMode: 'logprobs' }, rubrics: ['anti-slop'], pairsOf: 4 },
  'checks, one reply': { params: { scoreMode: 'checks' }, pairsOf: 4 },
  '3 samples': { params: { samples: 3, seed: 1 }, rubrics: ['anti-slop'], pairsOf: 2 },
};

const results = existsSync(values.results) ? JSON.parse(readFileSync(values.results, 'utf8')) : {};
const home = process.env.AGENT_EVAL_HOME;
const folder = home ?? path.join(process.env.HOME ?? '', '.cache/agent-eval');

function itemsOf({ pairs, rubrics, matched = false, pairsOf = Number.POSITIVE_INFINITY }) {
  const known = matched ? [...TEXTS, ...MATCHED_TEXTS] : TEXTS;
  const texts = known.filter(
    ({ rubric, pair }) =>
      (rubrics ?? [rubric]).includes(rubric) && Number(pair.split(' ').at(-1)) <= pairsOf,
  );
  if (!pairs) {
    return texts.map((text) => ({ ...text, key: `${text.pair} ${text.label}`, method: 'judge' }));
  }
  const good = texts.filter(({ label }) => label === 'good');
  return good.map((a, number) => {
    const b = texts.find(({ pair, label }) => pair === a.pair && label === 'bad');
    // The good text is not always the first.
    const sides =
      number % 2 === 0 ? { a: a.content, b: b.content } : { a: b.content, b: a.content };
    const better = number % 2 === 0 ? 'a' : 'b';
    return { ...a, ...sides, better, key: a.pair, method: 'compare' };
  });
}

function paramsOf({ method, rubric, context, content, a, b }, params) {
  const texts = method === 'judge' ? { content } : { a, b };
  const common = { rubricName: rubric, ...texts, ...(context && { context }), ...params };
  return { maxTokens: 400, timeoutMs: 600_000, ...common };
}

async function run() {
  const server = await startProvider(
    [
      '--model',
      path.join(folder, `models/${MODEL}.gguf`),
      '--runtime',
      path.join(folder, 'runtime'),
    ].concat(['--threads', values.threads]),
    'bench/study/local-server.mjs',
  );
  const session = openSession(ENGINE, {
    ...cleanEnvironment(),
    ...(home !== undefined && { AGENT_EVAL_HOME: home }),
    AGENT_EVAL_LLM_BASE_URL: server.url,
    AGENT_EVAL_LLM_MODEL: MODEL,
    AGENT_EVAL_LOCAL_THREADS: values.threads,
    AGENT_EVAL_ATTEMPTS: '1',
  });
  try {
    for (const [name, mode] of Object.entries(MODES)) {
      if (values.only !== undefined && !values.only.split(';').includes(name)) continue;
      results[name] ??= {};
      for (const item of itemsOf(mode)) {
        if (results[name][item.key] !== undefined) continue;
        const model = mode.local ? { model: `local/${MODEL}` } : {};
        const started = performance.now();
        const { result, error } = await session.call(
          item.method,
          paramsOf(item, { ...mode.params, ...model }),
        );
        const seconds = (performance.now() - started) / 1000;
        const { rubric, pair, label, better, set } = item;
        const said = result
          ? {
              composite: result.composite,
              winner: result.winner,
              flipped: result.flipped,
              mode: result.scoreMode,
            }
          : { error: error.code };
        results[name][item.key] = { rubric, pair, label, better, set, seconds, ...said };
        writeFileSync(values.results, JSON.stringify(results));
        console.error(`${name}, ${item.key}: ${JSON.stringify(said)} ${seconds.toFixed(1)} s`);
      }
    }
  } finally {
    session.close();
    await server.stop();
  }
}

if (!values.report) await run();
const table = report(results);
console.log(table);
if (values.write) writeFileSync(new URL('results.md', import.meta.url), resultsPage(table, MODEL));
