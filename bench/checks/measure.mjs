// Asks a local model yes/no questions about a set of texts and stores the logits.
// Rows that the results file already has are not asked again.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import {
  checksOf,
  need,
  readFlags,
  readJson,
  readResults,
  readTexts,
  stop,
  textKey,
  writeJson,
} from './common.mjs';
import { openModel } from './model.mjs';

const flags = readFlags(process.argv.slice(2), [
  'texts',
  'questions',
  'rubric',
  'model',
  'runtime',
  'out',
  'threads',
  'split',
]);
const modelPath = need(flags, 'model', 'AGENT_EVAL_BENCH_MODEL');
const runtimeDir = need(flags, 'runtime', 'AGENT_EVAL_BENCH_RUNTIME');
const out = need(flags, 'out');
const texts = readTexts(need(flags, 'texts')).filter(
  ({ split }) => flags.split === undefined || split === flags.split,
);
const questions = questionsOf(flags);

const results = readResults(out);
const model = await sha256(modelPath);
if (results.model !== null && results.model !== model) {
  stop(`${out} holds answers of another model: give another --out.`);
}
results.model = model;
const open = texts
  .map((text) => ({ text, missing: questions.filter((question) => !known(text, question)) }))
  .filter(({ missing }) => missing.length > 0);
if (open.length > 0) await askAll(open);
console.log(
  `${texts.length} texts, ${questions.length} questions, ${open.length} texts were asked.`,
);

async function askAll(rows) {
  const asker = await openModel({ modelPath, runtimeDir, threads: Number(flags.threads ?? 1) });
  for (const { text, missing } of rows) {
    const logits = await asker.ask(text, missing);
    results.rows[textKey(text)] = { ...results.rows[textKey(text)], ...logits };
    writeJson(out, results);
  }
  await asker.close();
}

function known(text, question) {
  return results.rows[textKey(text)]?.[question] !== undefined;
}

/** From a rubric file, or from a plain list of questions. */
function questionsOf({ rubric, questions: file }) {
  if (!rubric && !file) stop('Give --questions FILE.json or --rubric FILE.json.');
  const fromRubric = rubric
    ? checksOf(readJson(rubric).rubric).map(({ question }) => question)
    : [];
  const fromFile = file ? readJson(file) : [];
  return [...new Set([...fromRubric, ...fromFile])];
}

async function sha256(file) {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest('hex');
}
