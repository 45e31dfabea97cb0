// An OpenAI-compatible endpoint on a GGUF model, for the study alone: one request at a time, replies held to
// the JSON schema by a grammar, and probabilities of the tokens that spell the scores.
// usage: node bench/study/local-server.mjs --model FILE.gguf --runtime FOLDER [--threads 2]
// FOLDER holds node_modules/node-llama-cpp. More threads than free cores make llama.cpp crawl.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    runtime: { type: 'string' },
    threads: { type: 'string', default: '2' },
  },
});
const { model: modelPath, runtime } = values;
if (!modelPath || !runtime) {
  console.error('--model and --runtime are needed');
  process.exit(2);
}
const require = createRequire(path.join(path.resolve(runtime), 'package.json'));
const llamaCpp = await import(pathToFileURL(require.resolve('node-llama-cpp')).href);
const llama = await llamaCpp.getLlama({
  gpu: false,
  build: 'never',
  skipDownload: true,
  logLevel: 'error',
});
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({
  contextSize: 4096,
  sequences: 1,
  threads: Number(values.threads),
});
const sequence = context.getSequence();
const grammars = new Map();

async function grammarOf(schema) {
  const key = JSON.stringify(schema);
  if (!grammars.has(key)) grammars.set(key, await llama.createGrammarForJsonSchema(schema));
  return grammars.get(key);
}

function promptTokens(messages) {
  const text = messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`);
  return model.tokenize(`${text.join('')}<|im_start|>assistant\n`, true);
}

/** Forgets what is not the beginning of the next prompt; gives how much of it is there already. */
async function keepPrefix(tokens) {
  const known = sequence.contextTokens;
  let same = 0;
  while (same < tokens.length - 1 && same < known.length && known[same] === tokens[same]) same += 1;
  await sequence.eraseContextTokenRanges([{ start: same, end: sequence.nextTokenIndex }]);
  return same;
}

async function generate(prompt, body) {
  const schema = body.response_format?.json_schema?.schema;
  const grammarEvaluationState =
    schema === undefined
      ? undefined
      : new llamaCpp.LlamaGrammarEvaluationState({ model, grammar: await grammarOf(schema) });
  const options = { temperature: body.temperature ?? 0, seed: body.seed, grammarEvaluationState };
  const most = body.max_tokens ?? 300;
  const reply = [];
  let finish = 'length';
  const start = await keepPrefix(prompt);
  for await (const token of sequence.evaluate(prompt.slice(start), options)) {
    if (model.isEogToken(token)) {
      finish = 'stop';
      break;
    }
    reply.push(token);
    if (reply.length >= most) break;
  }
  return { reply, finish };
}

/** What else the model might have written, for the tokens from the scores on. */
async function logprobsOf(prompt, reply, count) {
  const pieces = reply.map((token, i) =>
    model.detokenize([token], false, reply.slice(Math.max(0, i - 3), i)),
  );
  const from = pieces.findIndex((_, i) => pieces.slice(0, i).join('').includes('"dimensions"'));
  const first = from < 0 ? reply.length : from;
  await sequence.eraseContextTokenRanges([
    { start: Math.max(0, prompt.length + first - 1), end: sequence.nextTokenIndex },
  ]);
  const before = first === 0 ? prompt.at(-1) : reply[first - 1];
  const input = [before, ...reply.slice(first, -1)];
  const evaluated =
    first === reply.length
      ? []
      : await sequence.controlledEvaluate(
          input.map((token) => [token, { generateNext: { probabilities: true } }]),
        );
  const content = pieces.map((piece, i) => {
    if (i < first) return { token: piece, logprob: 0, top_logprobs: [] };
    const { probabilities } = evaluated[i - first].next;
    const likely = [];
    for (const [token, p] of probabilities) {
      if (p > 1e-5) likely.push([token, p]);
    }
    likely.sort((a, b) => b[1] - a[1]);
    return {
      token: piece,
      logprob: Math.log(probabilities.get(reply[i]) ?? 1e-9),
      top_logprobs: likely
        .slice(0, count)
        .map(([token, p]) => ({ token: model.detokenize([token]), logprob: Math.log(p) })),
    };
  });
  return { content };
}

async function complete(body) {
  const prompt = promptTokens(body.messages);
  const { reply, finish } = await generate(prompt, body);
  return {
    id: 'local',
    object: 'chat.completion',
    model: path.basename(modelPath),
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: model.detokenize(reply) },
        finish_reason: finish,
        ...(body.logprobs && {
          logprobs: await logprobsOf(prompt, reply, body.top_logprobs ?? 20),
        }),
      },
    ],
    usage: { prompt_tokens: prompt.length, completion_tokens: reply.length },
  };
}

let turn = Promise.resolve();
const server = createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    turn = turn.then(async () => {
      let answer;
      try {
        answer = [200, await complete(JSON.parse(Buffer.concat(parts).toString('utf8')))];
      } catch (error) {
        answer = [500, { error: { message: String(error?.stack ?? error) } }];
      }
      response.writeHead(answer[0], { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer[1]));
    });
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}/v1` }));
});
// It ends with whoever started it.
process.stdin.resume().on('end', () => process.exit());
