import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const HEAD = '<|im_start|>system\nYou answer questions about a text.<|im_end|>\n<|im_start|>user\n';
const TAIL = '<|im_end|>\n<|im_start|>assistant\n';

/** Loads a ChatML model; `ask` gives ln(P(yes) / P(no)) for each question about a text. */
export async function openModel({ modelPath, runtimeDir, threads }) {
  const require = createRequire(path.join(path.resolve(runtimeDir), 'package.json'));
  const { getLlama } = await import(pathToFileURL(require.resolve('node-llama-cpp')).href);
  const llama = await getLlama({
    gpu: false,
    build: 'never',
    skipDownload: true,
    maxThreads: threads,
    logLevel: 'error',
  });
  const model = await llama.loadModel({ modelPath });
  const context = await model.createContext({ contextSize: 2048, threads, sequences: 1 });
  const sequence = context.getSequence();
  const massOf = massReader(model);

  async function askOne(question) {
    const tokens = model.tokenize(`${question} Answer Yes or No.${TAIL}`, true);
    const start = sequence.nextTokenIndex;
    const last = tokens.length - 1;
    // Options of any kind would shrink the map to the likeliest few tokens.
    const evaluated = await sequence.controlledEvaluate([
      ...tokens.slice(0, last),
      [tokens[last], { generateNext: { probabilities: true } }],
    ]);
    await sequence.eraseContextTokenRanges([{ start, end: sequence.nextTokenIndex }]);
    const { yes, no } = massOf(evaluated[last].next.probabilities);
    return Math.log(yes / no);
  }

  return {
    async ask(text, questions) {
      await sequence.clearHistory();
      await sequence.evaluateWithoutGeneratingNewTokens(prefixTokens(model, text));
      const logits = {};
      for (const question of questions) logits[question] = await askOne(question);
      return logits;
    },
    close: () => llama.dispose(),
  };
}

/** The part that all questions share. A field's own text never becomes a special token. */
function prefixTokens(model, { content, context = {} }) {
  const fields = Object.entries(context)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => [
      key[0].toUpperCase() + key.slice(1),
      typeof value === 'string' ? value : JSON.stringify(value),
    ]);
  fields.push(['Text', content]);
  const quote = '"'.repeat(1 + Math.max(2, ...fields.map(([, value]) => longestQuoteRun(value))));
  return [
    ...model.tokenize(HEAD, true),
    ...fields.flatMap(([label, value]) => [
      ...model.tokenize(`${label}:\n${quote}\n`, true),
      ...model.tokenize(value, false),
      ...model.tokenize(`\n${quote}\n\n`, true),
    ]),
  ];
}

function longestQuoteRun(value) {
  return Math.max(0, ...[...value.matchAll(/"+/g)].map(([run]) => run.length));
}

/** Sums the probabilities of all tokens that read as yes or as no. */
function massReader(model) {
  let answers = null;
  return (probabilities) => {
    // The map holds the whole vocabulary, in which a handful of tokens count.
    answers ??= answerTokens(model, probabilities.keys());
    const sum = (tokens) =>
      tokens.reduce((total, token) => total + (probabilities.get(token) ?? 0), 0);
    return { yes: sum(answers.yes), no: sum(answers.no) };
  };
}

function answerTokens(model, vocabulary) {
  const answers = { yes: [], no: [] };
  for (const token of vocabulary) {
    const text = model.detokenize([token], false).trim().toLowerCase();
    if (text === 'yes' || text === 'no') answers[text].push(token);
  }
  return answers;
}
