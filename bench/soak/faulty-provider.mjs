// A model endpoint that fails now and then, in the ways that endpoints do. What it answers is decided by the
// number in the text ("Item 17: …") alone, so that whoever judges can tell a wrong score from a right one.
// usage: node bench/soak/faulty-provider.mjs [--fault-share 0.05] [--seed 1]; prints one JSON line with its URL.
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { scoreOf } from './items.mjs';

const { values } = parseArgs({
  options: {
    'fault-share': { type: 'string', default: '0.05' },
    seed: { type: 'string', default: '1' },
  },
});
const share = Number(values['fault-share']);

/** The mulberry32 generator: numbers in [0, 1) that a seed decides. */
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
const random = generator(Number(values.seed));

const verdict = (score) =>
  JSON.stringify({
    rationale: 'Scripted.',
    dimensions: { quality: score },
    failureModes: [],
    wins: [],
  });

function completion(content, finish = 'stop') {
  return JSON.stringify({
    id: 'x',
    model: 'soak-model',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish }],
    usage: { prompt_tokens: 300, completion_tokens: 30 },
  });
}

const ok = (body) => ({ status: 200, body });
const half = (text) => text.slice(0, Math.floor(text.length * (0.2 + 0.7 * random())));

/** Each takes the right score and gives what is sent instead. */
const FAULTS = {
  'rate limit': () => ({ status: 429, body: '{"error":{"message":"slow down"}}', retryMs: 20 }),
  'server error': () => ({ status: 500, body: '{"error":{"message":"oops"}}' }),
  'gateway page': () => ({ status: 502, body: '<html>bad gateway</html>' }),
  reset: () => null,
  'half a body': (score) => ({ status: 200, body: half(completion(verdict(score))), broken: true }),
  'error with 200': () => ok('{"error":{"message":"upstream failed","code":503}}'),
  'cut off': (score) => ok(completion(half(verdict(score)), 'length')),
  'cut off unsaid': (score) => ok(completion(half(verdict(score)))),
  empty: () => ok(completion('')),
  prose: () => ok(completion('This text is quite good, I would say 9 out of 10.')),
  'no score': () => ok(completion('{"rationale":"Scripted.","dimensions":{}}')),
  'out of range': (score) => ok(completion(verdict(100 * score + 2))),
  'not a number': () => ok(completion(verdict('four'))),
  // What is meant is there, with something wrong before it.
  draft: (score) => ok(completion(`<think>${verdict(0.5)}</think>${verdict(score)}`)),
  fenced: (score) => ok(completion(`Here it is:\n\`\`\`json\n${verdict(score)}\n\`\`\``)),
  'single quotes': (score) => ok(completion(verdict(score).replaceAll('"', "'"))),
};
const kinds = Object.keys(FAULTS);

const made = Object.fromEntries(kinds.map((kind) => [kind, 0]));
let calls = 0;
/** The numbers of the texts that each key asked about: whoever runs twice uses two keys. */
const asked = new Map();

function answerTo(body, key) {
  calls += 1;
  const number = Number(/Item (\d+):/.exec(body)?.[1]);
  if (!asked.has(key)) asked.set(key, new Set());
  asked.get(key).add(number);
  const score = scoreOf(number);
  if (random() >= share) return ok(completion(verdict(score)));
  const kind = kinds[Math.floor(random() * kinds.length)];
  made[kind] += 1;
  return FAULTS[kind](score);
}

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    const key = new URL(request.url, 'http://localhost').searchParams.get('key');
    const numbers = key === null ? {} : { asked: [...(asked.get(`Bearer ${key}`) ?? [])] };
    response.end(JSON.stringify({ calls, faults: made, ...numbers }));
    return;
  }
  const parts = [];
  request.on('error', () => {});
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const answer = answerTo(Buffer.concat(parts).toString('utf8'), request.headers.authorization);
    if (answer === null) {
      request.socket.resetAndDestroy();
      return;
    }
    const { status, body, retryMs, broken } = answer;
    const length = Buffer.byteLength(body) + (broken ? 10 : 0);
    response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': length,
      ...(retryMs !== undefined && { 'retry-after-ms': retryMs }),
    });
    if (!broken) response.end(body);
    else response.write(body, () => request.socket.destroy());
  });
});
server.listen(0, '127.0.0.1', () => {
  const origin = `http://127.0.0.1:${server.address().port}`;
  console.log(JSON.stringify({ url: `${origin}/v1`, counts: `${origin}/counts` }));
});
// It ends with whoever started it.
process.stdin.resume().on('end', () => process.exit());
