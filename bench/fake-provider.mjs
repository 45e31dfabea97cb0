// The fast fake endpoint: answers every chat completion at once with one fixed verdict. It reads no more of
// HTTP than it must, so that a benchmark measures its client and not this process.
// usage: node bench/fake-provider.mjs [--port 0] [--delay-ms 0] [--peers]; prints one JSON line with its URL.
// With --peers it answers each judging library of bench/peers in the form that library asks for.
// GET /last returns the body it was sent last.
import { createServer } from 'node:net';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'delay-ms': { type: 'string', default: '0' },
    peers: { type: 'boolean', default: false },
  },
});
const delayMs = Number(values['delay-ms']);

const completion = (message) =>
  JSON.stringify({
    id: 'chatcmpl-fixed',
    object: 'chat.completion',
    created: 0,
    model: 'fake-model',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 400, completion_tokens: 60, total_tokens: 460 },
  });
const json = (value) => completion({ content: JSON.stringify(value) });
const RATIONALE = 'A fixed verdict, the same for every text.';

const VERDICT = json({
  rationale: RATIONALE,
  dimensions: { buyer_quality: 0.8, voice: 0.7, signal: 0.6 },
  failureModes: [],
  wins: ['specific-component'],
});

/** What each peer of bench/peers understands; the first whose mark is in the request counts. */
const PEERS = [
  {
    mark: '"select_choice"',
    reply: completion({
      content: null,
      tool_calls: [
        {
          id: 'call_1',
          type: 'function',
          function: {
            name: 'select_choice',
            arguments: JSON.stringify({ reasons: RATIONALE, choice: 'good' }),
          },
        },
      ],
    }),
  },
  {
    mark: 'A reward by a written rubric',
    reply: json({ rationale: RATIONALE, dimensions: { score: 0.8 }, failureModes: [], wins: [] }),
  },
  { mark: 'GRADE:', reply: completion({ content: `${RATIONALE}\n\nGRADE: C` }) },
  { mark: '"reasoning"', reply: json({ reasoning: RATIONALE, score: 0.8 }) },
  { mark: 'Evaluation Steps', reply: json({ reason: RATIONALE, score: 8 }) },
];

const respond = (body) =>
  Buffer.concat([
    Buffer.from(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
    ),
    body,
  ]);
const verdict = respond(Buffer.from(VERDICT));
const peers = PEERS.map(({ mark, reply }) => ({ mark, reply: respond(Buffer.from(reply)) }));
const headEnd = Buffer.from('\r\n\r\n');
let last = Buffer.alloc(0);

/** Takes the first whole request off the bytes, or nothing when some of it is still to come. */
function takeRequest(bytes) {
  const end = bytes.indexOf(headEnd);
  if (end < 0) return undefined;
  const head = bytes.latin1Slice(0, end);
  const start = end + headEnd.length;
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  if (bytes.length < start + length) return undefined;
  const body = bytes.subarray(start, start + length);
  return { isLast: head.startsWith('GET /last '), body, rest: bytes.subarray(start + length) };
}

function replyTo(body) {
  return peers.find(({ mark }) => body.includes(mark))?.reply ?? verdict;
}

function answer(socket, request) {
  if (request.isLast) {
    socket.write(respond(last));
    return;
  }
  last = request.body;
  const reply = values.peers ? replyTo(request.body) : verdict;
  if (delayMs > 0) setTimeout(() => socket.writable && socket.write(reply), delayMs);
  else socket.write(reply);
}

const server = createServer({ noDelay: true }, (socket) => {
  let pending = Buffer.alloc(0);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    for (let request = takeRequest(pending); request; request = takeRequest(pending)) {
      pending = request.rest;
      answer(socket, request);
    }
  });
});

server.listen(Number(values.port), '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}/v1` }));
});
// It ends with whoever started it.
process.stdin.resume().on('end', () => process.exit());
