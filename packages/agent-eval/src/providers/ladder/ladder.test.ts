import type { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type ModelServer,
  type Step,
  startModelServer,
} from '../../../../../tests/fakes/model-server.js';
import { systemClock } from '../../core/clock.js';
import { type Deadline, startDeadline } from '../../core/deadline.js';
import { encodeText } from '../../core/encoded-text.js';
import { Limiter } from '../limiter.js';
import { RemoteClient } from '../remote-client.js';
import { undiciTransport } from '../transport-undici.js';
import type { ModelReply, ModelRequest } from '../types.js';

const REQUEST: ModelRequest = {
  model: 'm',
  system: encodeText('You judge.\n- "quality", a number from 0 to 1: how good it is'),
  user: 'a text',
  schema: {
    name: 'verdict',
    json: '{"type":"object","properties":{"dimensions":{"type":"object","properties":{"quality":{"type":"number","minimum":0,"maximum":1}}}}}',
  },
  temperature: 0,
  maxTokens: 500,
};

let server: ModelServer;
const opened: RemoteClient[] = [];
const deadlines: Deadline[] = [];
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.close());
beforeEach(() => server.reset());
afterEach(async () => {
  for (const deadline of deadlines.splice(0)) deadline.release();
  await Promise.all(opened.splice(0).map((client) => client.close()));
});

function makeClient(attempts = 4): RemoteClient {
  const client = new RemoteClient({
    judging: {
      path: '/v1/chat/completions',
      displayUrl: `${server.origin}/v1/chat/completions`,
      headers: {},
    },
    transport: undiciTransport({ origin: server.origin, connections: 64, proxy: null }),
    limiter: new Limiter(64, 1000),
    retry: { attempts, baseMs: 10, maxMs: 40, minGapMs: 5 },
    clock: systemClock,
    random: Math.random,
    redact: (text) => text,
  });
  opened.push(client);
  return client;
}

function within(ms = 20_000): Deadline {
  const deadline = startDeadline(systemClock, ms);
  deadlines.push(deadline);
  return deadline;
}

const ask = (client: RemoteClient, more: Partial<ModelRequest> = {}) =>
  client.complete({ ...REQUEST, ...more }, within());

async function failure(client: RemoteClient): Promise<AgentEvalError> {
  return await ask(client).then(
    () => expect.unreachable('the call must fail'),
    (error) => error,
  );
}

const calls = async () => (await server.stats()).calls;
const bodies = async () => (await server.requests()).map(({ body }) => body as Sent);

interface Sent {
  messages: { role: string; content: string }[];
  response_format?: { type: string };
  tools?: unknown[];
  [parameter: string]: unknown;
}

/** Refuses every request that holds `text`. */
function refuse(text: string, error: object | string, status = 400): Step {
  return { match: { bodyContains: text }, times: 'forever', status, reply: { json: { error } } };
}

const NO_TEMPERATURE = refuse('"temperature"', {
  message: 'code: unsupported_value; message: temperature may only be 1 here',
  param: 'temperature',
  code: '-4003',
});
const NO_MAX_TOKENS = refuse('"max_tokens"', {
  message: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
  code: 'unsupported_parameter',
});
const NO_SCHEMA = refuse('"json_schema"', {
  message: "Invalid parameter: 'response_format' of type 'json_schema' is not supported.",
});
const NO_TOOLS = refuse('"tools"', { message: 'm does not support tools' });
const NO_JSON = refuse('"json_object"', { message: "'response_format.type' must be 'text'" });

describe('parameters that are refused', () => {
  it('are learnt one after another, then the next judgement is one call', async () => {
    await server.script([NO_TEMPERATURE, NO_MAX_TOKENS]);
    const client = makeClient();
    expect(await ask(client)).toMatchObject({
      attempts: 3,
      droppedParams: ['temperature', 'max_tokens'],
      replyMode: 'json_schema',
    });
    expect(await ask(client)).toMatchObject({
      attempts: 1,
      droppedParams: ['temperature', 'max_tokens'],
    });
    expect(await calls()).toBe(4);
    const last = (await bodies())[3];
    expect(last).toMatchObject({ max_completion_tokens: 500 });
    expect(last).not.toHaveProperty('temperature');
    expect(last).not.toHaveProperty('max_tokens');
  });

  it('are learnt even when no retries are allowed', async () => {
    await server.script([NO_TEMPERATURE, NO_MAX_TOKENS]);
    expect((await ask(makeClient(1))).attempts).toBe(3);
  });

  it('leave as many requests to fail as before', async () => {
    await server.script([NO_TEMPERATURE, { status: 503 }]);
    expect((await ask(makeClient(2))).attempts).toBe(3);
  });

  it.each<[string, string, object | string, number, Partial<ModelRequest>]>([
    [
      'seed',
      '"seed"',
      { message: 'Unrecognized request argument supplied: seed' },
      400,
      { seed: 7 },
    ],
    [
      'logprobs',
      '"logprobs"',
      { message: 'This model does not support logprobs' },
      400,
      { topLogprobs: 5 },
    ],
    [
      'logprobs',
      '"top_logprobs"',
      { message: 'property top_logprobs is unsupported', param: 'top_logprobs' },
      422,
      { topLogprobs: 5 },
    ],
    ['temperature', '"temperature"', 'temperature is deprecated for this model', 400, {}],
    [
      'temperature',
      '"temperature"',
      { message: 'No endpoints found that support: temperature', code: 404 },
      404,
      {},
    ],
  ])('leave out %s on a message such as %s %j', async (name, text, error, status, more) => {
    await server.script([refuse(text, error, status)]);
    const reply = await ask(makeClient(), more);
    expect(reply).toMatchObject({ attempts: 2, droppedParams: [name] });
  });

  it('are found in a list of validation issues', async () => {
    const json = { detail: [{ loc: ['body', 'temperature'], msg: 'Extra inputs', type: 'extra' }] };
    await server.script([
      { match: { bodyContains: '"temperature"' }, times: 'forever', status: 422, reply: { json } },
    ]);
    expect((await ask(makeClient())).droppedParams).toEqual(['temperature']);
  });

  it('are found in a compressed body, and in an error with status 200', async () => {
    const error = { message: 'temperature is not supported', code: 400 };
    const match = { bodyContains: '"temperature"' };
    await server.script([
      { match, status: 400, reply: { json: { error }, encoding: 'gzip' } },
      { match, reply: { json: { error } } },
    ]);
    expect((await ask(makeClient())).attempts).toBe(2);
    expect((await ask(makeClient())).attempts).toBe(2);
  });

  it('are sent again by the next call when only one value was out of range', async () => {
    await server.script([
      refuse('"max_tokens": 500', { message: 'max_tokens is too large: at most 400 are allowed' }),
      refuse('"max_completion_tokens"', { message: 'unknown field max_completion_tokens' }),
    ]);
    const client = makeClient();
    expect(await ask(client)).toMatchObject({ attempts: 3, droppedParams: ['max_tokens'] });
    expect(await ask(client, { maxTokens: 300 })).toMatchObject({
      attempts: 1,
      droppedParams: [],
    });
  });

  it('are told apart from parameters that the message only lists', async () => {
    const message = 'Unknown parameter seed. Known: temperature, max_tokens, response_format';
    await server.script([refuse('"seed"', { message })]);
    const reply = await ask(makeClient(), { seed: 1 });
    expect(reply).toMatchObject({ attempts: 2, droppedParams: ['seed'], replyMode: 'json_schema' });
  });

  it('are remembered for each model', async () => {
    await server.script([
      { ...NO_TEMPERATURE, match: { model: 'm', bodyContains: '"temperature"' } },
    ]);
    const client = makeClient();
    await ask(client);
    expect(await ask(client, { model: 'other' })).toMatchObject({ attempts: 1, droppedParams: [] });
  });
});

describe('the ladder', () => {
  it.each<[string, Step[], ModelReply['replyMode'], number]>([
    ['a tool call', [NO_SCHEMA], 'tool_call', 2],
    ['a JSON object', [NO_SCHEMA, NO_TOOLS], 'json_object', 3],
    ['text', [NO_SCHEMA, NO_TOOLS, NO_JSON], 'text', 4],
  ])('steps down to %s', async (_name, steps, replyMode, attempts) => {
    await server.script(steps);
    const client = makeClient(1);
    const reply = await ask(client);
    expect(reply).toMatchObject({ replyMode, attempts });
    expect(JSON.parse(reply.text)).toMatchObject({ dimensions: { quality: 0.8 } });
    expect(await ask(client)).toMatchObject({ replyMode, attempts: 1 });
  });

  it('shows the schema in the prompt where the endpoint does not take it', async () => {
    await server.script([NO_SCHEMA, NO_TOOLS]);
    await ask(makeClient());
    const [first, , last] = await bodies();
    expect(first?.messages[0]?.content).toBe(REQUEST.system.text);
    expect(last?.messages[0]?.content).toContain(REQUEST.schema.json);
    expect(last).not.toHaveProperty('tools');
  });

  it.each([
    "Invalid schema for response_format 'verdict': In context=(), 'additionalProperties' is required",
    'response_format: invalid JSON schema: unsupported keyword "minimum"',
  ])('is not stepped down on a complaint about the schema: %s', async (message) => {
    await server.script([refuse('"json_schema"', { message, param: 'response_format' })]);
    const error = await failure(makeClient());
    expect(error.code).toBe('provider_error');
    expect(error.message).toContain(message.slice(0, 40));
    expect(await calls()).toBe(1);
  });

  it.each<[string, Step]>([
    ['names nothing', refuse('m', { message: 'bad request' })],
    ['is about the key', refuse('m', { message: 'this key may not use response_format' }, 401)],
    ['is about the server', refuse('m', { message: 'response_format is not supported' }, 500)],
    [
      'is about the length',
      refuse('m', { message: 'only a context length of 10 tokens is supported, lower max_tokens' }),
    ],
  ])('is not stepped down when the refusal %s', async (_name, step) => {
    await server.script([step]);
    await failure(makeClient(1));
    expect(await calls()).toBe(1);
  });

  it('ends where everything is refused', async () => {
    await server.script([
      refuse('"m"', {
        message: 'response_format, tools, json_object, temperature, max_tokens: not supported',
      }),
    ]);
    expect((await failure(makeClient())).code).toBe('provider_error');
    expect(await calls()).toBeLessThanOrEqual(10);
  });

  it('is learnt anew when a rung stops working', async () => {
    await server.script([NO_SCHEMA]);
    const client = makeClient();
    expect((await ask(client)).replyMode).toBe('tool_call');
    await server.script([NO_TOOLS]);
    expect(await ask(client)).toMatchObject({ replyMode: 'json_schema', attempts: 2 });
    expect(await ask(client)).toMatchObject({ replyMode: 'json_schema', attempts: 1 });
  });
});

describe('many first calls', () => {
  it('learn once', async () => {
    await server.script([NO_SCHEMA, NO_TEMPERATURE, NO_MAX_TOKENS]);
    const client = makeClient();
    const replies = await Promise.all(Array.from({ length: 64 }, () => ask(client)));
    expect(replies.every(({ replyMode }) => replyMode === 'tool_call')).toBe(true);
    expect(replies.every(({ droppedParams }) => droppedParams.length === 2)).toBe(true);
    expect(await calls()).toBe(64 + 3);
  });

  it('learn a parameter once that comes up later', async () => {
    await server.script([refuse('"seed"', { message: 'seed is not supported' })]);
    const client = makeClient();
    await ask(client);
    await Promise.all(Array.from({ length: 64 }, () => ask(client, { seed: 3 })));
    expect(await calls()).toBe(1 + 64 + 1);
  });

  it('learn the rest once when what worked is refused of a sudden', async () => {
    const client = makeClient();
    await ask(client);
    await server.script([NO_TEMPERATURE, NO_MAX_TOKENS]);
    await Promise.all(Array.from({ length: 64 }, () => ask(client)));
    expect(await calls()).toBeLessThan(1 + 64 * 2 + 16);
  });

  it('do not wait for a slow answer', async () => {
    await server.script([{ delayMs: 60_000 }]);
    const client = makeClient();
    const slow = client.complete(REQUEST, within(1500)).catch(() => 'stopped');
    const others = Array.from({ length: 20 }, () => ask(client));
    const first = await Promise.race([slow, Promise.all(others)]);
    expect(first).toHaveLength(20);
    expect(await slow).toBe('stopped');
  });

  it('pass the lead on when the one that has it fails', async () => {
    await server.script([{ status: 401 }, NO_TEMPERATURE]);
    const client = makeClient();
    const ended = await Promise.allSettled(Array.from({ length: 16 }, () => ask(client)));
    expect(ended.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    expect(await calls()).toBe(1 + 1 + 15);
  });
});

describe('what else a request carries', () => {
  it('asks again in the same talk', async () => {
    const followUps = [
      { reply: '{"bad":', ask: 'Mend it.' },
      { reply: '', ask: 'Answer.' },
    ];
    await ask(makeClient(), { followUps });
    expect((await bodies())[0]?.messages.slice(1)).toEqual([
      { role: 'user', content: 'a text' },
      { role: 'assistant', content: '{"bad":' },
      { role: 'user', content: 'Mend it.' },
      { role: 'assistant', content: '(no answer)' },
      { role: 'user', content: 'Answer.' },
    ]);
  });

  it('asks for log probabilities and reads them', async () => {
    const token = { token: '8', logprob: -0.1, top_logprobs: [{ token: '7', logprob: -2 }] };
    const choice = { message: { content: '8' }, logprobs: { content: [token] } };
    await server.script([{ reply: { json: { choices: [choice] } } }]);
    const reply = await ask(makeClient(), { topLogprobs: 3 });
    expect((await bodies())[0]).toMatchObject({ logprobs: true, top_logprobs: 3 });
    expect(reply.logprobs).toEqual([
      { token: '8', logprob: -0.1, top: [{ token: '7', logprob: -2 }] },
    ]);
  });
});
