// A model endpoint that answers at once with one fixed verdict, so that what remains is our own cost.
// Plain sockets: a full HTTP server would cost more than the engine it serves.
// `node fake-provider.mjs [--delay-ms N] [--rubric NAME]` prints one JSON line: {"url": "http://127.0.0.1:PORT/v1"}.
// GET of any path gives the body of the newest call, which is what the engine really sends.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { parseArgs } from 'node:util';

const HEAD_END = Buffer.from('\r\n\r\n');

const { values } = parseArgs({
  options: {
    'delay-ms': { type: 'string', default: '0' },
    rubric: { type: 'string', default: 'anti-slop' },
  },
});

let newest = Buffer.from('{}');

function verdictFor(name) {
  const file = new URL(`../packages/agent-eval/src/rubrics/builtin/${name}.json`, import.meta.url);
  const { rubric } = JSON.parse(readFileSync(file, 'utf8'));
  return JSON.stringify({
    rationale: 'The text names one part, says how it was built and where it stopped working.',
    dimensions: Object.fromEntries(
      rubric.dimensions.map(({ id, min, max }) => [id, min + 0.75 * (max - min)]),
    ),
    failureModes: [],
    wins: [],
  });
}

function answerOf(body) {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
  return Buffer.concat([Buffer.from(head), HEAD_END, body]);
}

const completion = answerOf(
  Buffer.from(
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'bench-model',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: verdictFor(values.rubric) },
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 700, completion_tokens: 60, total_tokens: 760 },
    }),
  ),
);

const delayMs = Number(values['delay-ms']);

function answer(socket, isGet, body) {
  if (isGet) {
    socket.write(answerOf(newest));
    return;
  }
  newest = body;
  if (delayMs > 0) setTimeout(() => socket.write(completion), delayMs);
  else socket.write(completion);
}

/** Takes one whole request off the front; undefined while it is incomplete. */
function nextRequest(data) {
  const headEnd = data.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = data.latin1Slice(0, headEnd);
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  const start = headEnd + HEAD_END.length;
  if (data.length < start + length) return undefined;
  return {
    isGet: head.startsWith('GET '),
    body: data.subarray(start, start + length),
    rest: data.subarray(start + length),
  };
}

const server = createServer({ noDelay: true }, (socket) => {
  let waiting = Buffer.alloc(0);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
    for (let taken = nextRequest(waiting); taken !== undefined; taken = nextRequest(waiting)) {
      waiting = taken.rest;
      answer(socket, taken.isGet, taken.body);
    }
  });
});

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}/v1` })}\n`);
});
// It ends with whoever started it.
process.stdin.resume().on('end', () => process.exit());
