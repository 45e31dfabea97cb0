// The embedded model: how long it takes to load, and how long a question takes after a shared prefix of
// about 100 tokens. Needs the model: agent-eval model fetch qwen2.5-coder-1.5b.
// usage: node bench/local-model.mjs [--node PATH] [--runs 3]
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    node: { type: 'string', default: process.execPath },
    runs: { type: 'string', default: '3' },
  },
});
const engine = fileURLToPath(
  new URL('../packages/agent-eval/dist/engine/main.cjs', import.meta.url),
);

const TEXT = `The importer reads the ledger twice: once to count rows per account, once to post them. The first
pass costs 4 s on the largest customer, and saves the second from growing a table while it is locked. It does
not help accounts with one row, which are most of them. We left the old path in place behind a setting, since
two customers post while they import, and we have not yet seen how the lock behaves for them under load.`;

const QUESTIONS = [
  'Is the text an advertisement?',
  'Is the text full of buzzwords and promises?',
  'Does the text openly state a weakness, limit or failure?',
  'Could this text describe almost any product if the name were changed?',
  'Was this text written by a marketing department?',
  'Does the text only praise its subject?',
  'Does the text tell the reader what does not work?',
  'Is the text a recipe?',
];

/** Judges one after the other in one process; the first call loads the model, the next ones do not. */
function judge(counts) {
  const requests = counts.map((count) => {
    const checks = QUESTIONS.slice(0, count).map((question) => ({ question, expect: 'no' }));
    const rubric = {
      name: 'bench',
      description: 'Asks questions.',
      systemPrompt: 'Not used by local models.',
      dimensions: [{ id: 'answers', description: 'Answers to the questions.', checks }],
    };
    return JSON.stringify({ content: TEXT, rubric, model: 'local/qwen2.5-coder-1.5b' });
  });
  const args = [engine, 'rpc-batch', 'judge', '--concurrency', '1'];
  const done = spawnSync(values.node, args, { input: requests.join('\n'), encoding: 'utf8' });
  const answers = done.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const failed = answers.find((answer) => answer.error !== undefined);
  if (failed !== undefined) throw new Error(failed.error.message);
  return answers.map((answer) => answer.result);
}

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

const rows = Array.from({ length: Number(values.runs) }, () => {
  const [first, one, all] = judge([1, 1, QUESTIONS.length]);
  return {
    loadS: (first.durationMs - one.durationMs) / 1000,
    questionS: (all.durationMs - one.durationMs) / 1000 / (QUESTIONS.length - 1),
    judgementS: all.durationMs / 1000,
    prefixTokens: one.usage.inputTokens,
  };
});
const of = (key) => median(rows.map((row) => row[key]));
process.stdout.write(
  `${JSON.stringify({ loadS: of('loadS'), questionS: of('questionS'), judgementOf8QuestionsS: of('judgementS'), promptTokensOfOne: of('prefixTokens') })}\n`,
);
