import { getEventListeners } from 'node:events';
import type { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type ModelServer,
  type Step,
  startModelServer,
} from '../../../../tests/fakes/model-server.js';
import { cancellationOf } from '../core/cancel.js';
import { systemClock, systemRandom } from '../core/clock.js';
import { type Deadline, startDeadline } from '../core/deadline.js';
import { encodeText } from '../core/encoded-text.js';
import { Limiter } from './limiter.js';
import { library } from './node-http.js';
import { RemoteClient, type RemoteClientOptions } from './remote-client.js';
import { nodeTransport } from './transport-node.js';
import { undiciTransport } from './transport-undici.js';
import type { HttpTransport, ModelRequest } from './types.js';

const REQUEST: ModelRequest = {
  model: 'm',
  system: encodeText('You judge.'),
  user: 'a text',
  schema: {
    name: 'verdict',
    json: '{"type":"object","properties":{"quality":{"type":"number","minimum":0,"maximum":1}}}',
  },
};
const KEY = 'sk-secret-0123456789';
const SAID = '{"choices":[{"message":{"content":"said"},"finish_reason":"stop"}]}';

const TRANSPORTS: [name: string, make: (origin: string) => HttpTransport][] = [
  ['undici', (origin) => undiciTransport({ origin, connections: 64, proxy: null })],
  ['node:http', (origin) => nodeTransport(origin, library)],
];

const NO_JSON_SCHEMA: Step = {
  match: { bodyContains: '"json_schema"' },
  times: 'forever',
  status: 400,
  reply: { json: { error: { message: 'response_format is not supported' } } },
};

let server: ModelServer;
let elsewhere: ModelServer;
beforeAll(async () => {
  [server, elsewhere] = await Promise.all([startModelServer(), startModelServer()]);
});
afterAll(() => Promise.all([server.close(), elsewhere.close()]));
beforeEach(() => Promise.all([server.reset(), elsewhere.reset()]));

describe.each(TRANSPORTS)('over %s', (_name, makeTransport) => {
  const opened: RemoteClient[] = [];
  const deadlines: Deadline[] = [];
  afterEach(async () => {
    for (const deadline of deadlines.splice(0)) deadline.release();
    await Promise.all(opened.splice(0).map((client) => client.close()));
  });

  function makeClient(options: Partial<RemoteClientOptions> = {}, origin = server.origin) {
    const client = new RemoteClient({
      judging: {
        path: '/v1/chat/completions',
        displayUrl: `${origin}/v1/chat/completions`,
        headers: { authorization: `Bearer ${KEY}` },
      },
      transport: makeTransport(origin),
      limiter: new Limiter(64, 1000),
      retry: { attempts: 3, baseMs: 10, maxMs: 40, minGapMs: 5 },
      clock: systemClock,
      random: systemRandom,
      redact: (text) => text.replaceAll(KEY, '***'),
      ...options,
    });
    opened.push(client);
    return client;
  }

  function ask(client = makeClient(), more: Partial<ModelRequest> = {}, ms = 20_000) {
    const deadline = startDeadline(systemClock, ms);
    deadlines.push(deadline);
    return client.complete({ ...REQUEST, ...more }, deadline);
  }

  async function failure(call: Promise<unknown>): Promise<AgentEvalError> {
    return await call.then(
      () => expect.unreachable('the call must fail'),
      (error) => error,
    );
  }

  const calls = async () => (await server.stats()).calls;

  describe('an answer in another coding', () => {
    it.each<[string, NonNullable<Step['reply']>]>([
      ['gzip', { raw: SAID, encoding: 'gzip' }],
      ['br', { raw: SAID, encoding: 'br' }],
      ['zstd', { raw: SAID, encoding: 'zstd' }],
      ['deflate', { raw: SAID, encoding: 'deflate' }],
      ['x-gzip', { raw: SAID, encoding: 'gzip', encodingHeader: 'x-gzip' }],
      ['GZIP in capitals', { raw: SAID, encoding: 'gzip', encodingHeader: 'GZIP' }],
      ['identity', { raw: SAID, encodingHeader: 'identity' }],
    ])('is read: %s', async (_coding, reply) => {
      await server.script([{ reply }]);
      expect(await ask()).toMatchObject({ text: 'said', attempts: 1 });
    });

    it.each<[string, Step]>([
      [
        'gzip bytes without a header',
        { reply: { raw: SAID, encoding: 'gzip', encodingHeader: null } },
      ],
      [
        'zstd bytes without a header',
        { reply: { raw: SAID, encoding: 'zstd', encodingHeader: null } },
      ],
      ['plain text called gzip', { reply: { raw: SAID }, headers: [['content-encoding', 'gzip']] }],
      ['plain text called br', { reply: { raw: SAID }, headers: [['content-encoding', 'br']] }],
      ['plain text called zstd', { reply: { raw: SAID }, headers: [['content-encoding', 'zstd']] }],
      [
        'plain text called deflate',
        { reply: { raw: SAID }, headers: [['content-encoding', 'deflate']] },
      ],
      ['an unknown coding', { reply: { raw: SAID }, headers: [['content-encoding', 'lzma']] }],
      ['gzip cut in half', { reply: { raw: SAID, encoding: 'gzip', keep: 0.5 } }],
      ['br cut in half', { reply: { raw: SAID, encoding: 'br', keep: 0.5 } }],
      ['zstd cut in half', { reply: { raw: SAID, encoding: 'zstd', keep: 0.5 } }],
      ['deflate cut in half', { reply: { raw: SAID, encoding: 'deflate', keep: 0.5 } }],
    ])('is tried again, then a provider_error: %s', async (_coding, step) => {
      await server.script([{ ...step, times: 'forever' }]);
      expect((await failure(ask())).code).toBe('provider_error');
      expect(await calls()).toBe(3);
      await server.script([step]);
      expect(await ask()).toMatchObject({ attempts: 2 });
    });
  });

  describe('an event stream that nobody asked for', () => {
    const chunk = (delta: object, finish: string | null = null): string =>
      `data: ${JSON.stringify({ model: 'm-2', choices: [{ delta, finish_reason: finish }] })}\n\n`;

    it('is read', async () => {
      const usage = 'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}\n\n';
      const raw = `: ping\r\n\r\n${chunk({ reasoning_content: 'hm' })}${chunk({ content: 'sa' })}${chunk({ content: 'id' }, 'stop')}${usage}data: [DONE]\n\n`;
      await server.script([{ reply: { raw }, headers: [['content-type', 'text/event-stream']] }]);
      expect(await ask()).toMatchObject({
        text: 'said',
        reasoning: 'hm',
        finishReason: 'stop',
        model: 'm-2',
        usage: { inputTokens: 5, outputTokens: 2 },
        attempts: 1,
      });
    });

    it('is read when it holds a tool call, and when pieces come late', async () => {
      const piece = (text: string) => ({ tool_calls: [{ function: { arguments: text } }] });
      const raw = `${chunk(piece('{"a":'))}${chunk(piece('1}'))}${chunk({}, 'tool_calls')}`;
      await server.script([{ reply: { raw }, chunks: { count: 4, delayMs: 5 } }]);
      expect((await ask()).text).toBe('{"a":1}');
    });

    it('is tried again when it breaks off, and says so in the end', async () => {
      await server.script([{ reply: { raw: chunk({ content: 'sa' }) }, times: 'forever' }]);
      const error = await failure(ask());
      expect(error.code).toBe('provider_error');
      expect(error.message).toContain('event stream');
      expect(await calls()).toBe(3);
    });

    it('may hold an error', async () => {
      const raw = 'data: {"error":{"code":401,"message":"no"}}\n\n';
      await server.script([{ reply: { raw }, times: 'forever' }]);
      expect((await failure(ask())).code).toBe('provider_auth');
      expect(await calls()).toBe(1);
    });
  });

  describe('status 200 and something else inside', () => {
    it.each<[string, object]>([
      [
        'a rate limit in a choice',
        { choices: [{ finish_reason: 'error', error: { code: 429, message: 'slow' } }] },
      ],
      ['a rate limit by name', { error: { code: 'rate_limit_exceeded', message: 'slow' } }],
      ['an overloaded upstream', { error: { code: 503, message: 'busy' } }],
    ])('is tried again: %s', async (_what, json) => {
      await server.script([{ reply: { json } }]);
      expect((await ask()).attempts).toBe(2);
    });

    it('is a rate limit in the end when it says so', async () => {
      const json = { choices: [{ error: { code: 429, message: 'slow down' } }] };
      await server.script([{ reply: { json }, times: 'forever' }]);
      expect((await failure(ask())).code).toBe('rate_limited');
    });

    it.each<[string, object, string]>([
      ['a refused key', { error: { code: 401, message: 'no' } }, 'provider_auth'],
      ['a used-up quota', { error: { code: 'insufficient_quota' } }, 'quota_exhausted'],
    ])('is final: %s', async (_what, json, code) => {
      await server.script([{ reply: { json }, times: 'forever' }]);
      expect((await failure(ask())).code).toBe(code);
      expect(await calls()).toBe(1);
    });

    it.each<[string, object, string]>([
      ['no choices', { choices: [] }, ''],
      ['choices left out', {}, ''],
      ['parts', { choices: [{ message: { content: [{ type: 'text', text: 'a' }, 'b'] } }] }, 'ab'],
      [
        'tool arguments',
        {
          choices: [
            { message: { content: null, tool_calls: [{ function: { arguments: '{}' } }] } },
          ],
        },
        '{}',
      ],
      [
        'tool arguments as an object',
        { choices: [{ message: { tool_calls: [{ function: { arguments: { a: 1 } } }] } }] },
        '{"a":1}',
      ],
      [
        'the older function call',
        { choices: [{ message: { function_call: { arguments: '{}' } } }] },
        '{}',
      ],
    ])('is for the judge to read: %s', async (_what, json, text) => {
      await server.script([{ reply: { json } }]);
      expect(await ask()).toMatchObject({ text, usage: null, attempts: 1 });
    });

    it('keeps thoughts and refusals apart from the answer', async () => {
      const thinking = [{ type: 'text', text: 'hm' }];
      const content = [
        { type: 'thinking', thinking },
        { type: 'refusal', refusal: 'no' },
      ];
      await server.script([{ reply: { json: { choices: [{ message: { content } }] } } }]);
      expect(await ask()).toMatchObject({ text: '', reasoning: 'hm', refusal: 'no' });
    });
  });

  describe('a content filter', () => {
    it('is one call, with its category', async () => {
      const filter = { violence: { filtered: true, severity: 'medium' } };
      const error = { code: 'content_filter', innererror: { content_filter_result: filter } };
      await server.script([{ status: 400, reply: { json: { error } }, times: 'forever' }]);
      expect(await failure(ask())).toMatchObject({
        code: 'judge_refused',
        details: { categories: { violence: 'medium' } },
      });
      expect(await calls()).toBe(1);
    });
  });

  describe('a prompt that the endpoint cut silently', () => {
    const user = 'word '.repeat(20_000);
    const usage = { prompt_tokens: 4096, completion_tokens: 9 };

    it('is no judgement, and tells the counts', async () => {
      await server.script([{ usage }]);
      const error = await failure(ask(makeClient(), { user }));
      expect(error.code).toBe('context_overflow');
      expect(error.details).toMatchObject({ readTokens: 4096, sentTokens: expect.any(Number) });
      expect(error.details).toMatchObject({ usage: { inputTokens: 4096, outputTokens: 9 } });
      expect(await calls()).toBe(1);
    });

    it('gives a warning where that is allowed', async () => {
      await server.script([{ usage }]);
      const reply = await ask(makeClient({ allowCutPrompt: true }), { user });
      expect(reply.warnings).toEqual([expect.stringContaining('it has cut the prompt')]);
    });

    it.each<[string, string, number]>([
      ['short', 'word '.repeat(500), 5],
      ['as long as it says', user, 20_000],
      ['cheap to encode', ' '.repeat(100_000), 500],
      ['of unknown length', user, 0],
      ['in a script with long words', 'слово '.repeat(10_000), 12_000],
    ])('is not suspected when it is %s', async (_why, text, prompt_tokens) => {
      await server.script([{ usage: { prompt_tokens, completion_tokens: 1 } }]);
      expect((await ask(makeClient(), { user: text })).warnings).toEqual([]);
    });

    it('is noticed in other scripts', async () => {
      await server.script([{ usage }]);
      const error = await failure(ask(makeClient(), { user: '字'.repeat(40_000) }));
      expect(error.code).toBe('context_overflow');
    });
  });

  describe('a redirect', () => {
    it.each([301, 302, 307, 308])('with status %i takes no key anywhere', async (status) => {
      const headers: Step['headers'] = [['location', `${elsewhere.origin}/v1/chat/completions`]];
      await server.script([{ status, headers, times: 'forever' }]);
      const error = await failure(ask());
      expect(error.code).toBe('provider_error');
      expect(error.message).toContain('base URL');
      expect(await calls()).toBe(1);
      expect((await elsewhere.stats()).calls).toBe(0);
    });
  });

  describe('a request that takes longer than one may', () => {
    const HANGS: [string, Step][] = [
      ['before its headers', { delayMs: 60_000 }],
      ['after its headers', { headersThenDelayMs: 60_000 }],
    ];
    it.each(HANGS)('is sent again: %s', async (_when, step) => {
      await server.script([step]);
      expect((await ask(makeClient({ attemptTimeoutMs: 300 }))).attempts).toBe(2);
      await expect.poll(async () => (await server.requests())[0]?.outcome).toBe('client-gone');
    });

    it('is a timeout in the end, and says which', async () => {
      await server.script([{ delayMs: 60_000, times: 'forever' }]);
      const error = await failure(ask(makeClient({ attemptTimeoutMs: 100 })));
      expect(error).toMatchObject({ code: 'timeout', details: { attempts: 3 } });
      expect(error.message).toContain('100 ms');
    });
  });

  describe('many calls', () => {
    it('end in time when one of them gets no answer', async () => {
      await server.script([
        { match: { bodyContains: 'number 50"' }, headersThenDelayMs: 60_000, times: 'forever' },
      ]);
      const client = makeClient();
      const texts = Array.from({ length: 100 }, (_, i) => `number ${i}`);
      const ended = await Promise.allSettled(
        texts.map((user, i) => ask(client, { user }, i === 50 ? 500 : 20_000)),
      );
      expect(ended.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))).toEqual([50]);
      expect(await calls()).toBe(100);
    });

    it('leave nothing behind on a signal that they share', async () => {
      const controller = new AbortController();
      const client = makeClient({ limiter: new Limiter(8, 1000) });
      const one = async () => {
        const deadline = startDeadline(systemClock, 20_000, cancellationOf(controller.signal));
        await client.complete(REQUEST, deadline).finally(() => deadline.release());
      };
      await server.script([NO_JSON_SCHEMA, { status: 500 }]);
      await Promise.all(Array.from({ length: 50 }, one));
      expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    });
  });

  describe('a rate limit', () => {
    it('with a long wait ends every call at once, with one request in all', async () => {
      const headers: Step['headers'] = [['retry-after', '1800']];
      await server.script([{ status: 429, headers, times: 'forever' }]);
      const client = makeClient();
      const others = Array.from({ length: 20 }, () => failure(ask(client, {}, 30_000)));
      const limited = { code: 'rate_limited' };
      for (const error of await Promise.all(others)) {
        expect(error).toMatchObject(limited);
        expect(error.details?.retryAfterMs).toBeGreaterThan(1_790_000);
      }
      expect(await failure(ask(client, {}, 30_000))).toMatchObject(limited);
      expect(await calls()).toBe(1);
      expect((await ask(makeClient({}, elsewhere.origin))).attempts).toBe(1);
    });

    it('holds every call for as long as the endpoint asks', async () => {
      const limiter = new Limiter(64, 1000);
      const client = makeClient({ limiter });
      await ask(client);
      await server.script([{ status: 429, headers: [['retry-after', '0.6']] }]);
      const first = ask(client);
      await expect.poll(() => limiter.round, { timeout: 5000, interval: 1 }).toBe(1);
      await Promise.all([first, ...Array.from({ length: 10 }, () => ask(client))]);
      const [, limited, ...later] = (await server.requests()).map(({ time }) => time);
      expect(later).toHaveLength(11);
      for (const time of later) expect(time - (limited ?? 0)).toBeGreaterThanOrEqual(0.59);
    });

    it('obeys reset headers', async () => {
      await server.script([{ status: 429, headers: [['x-ratelimit-reset-requests', '300ms']] }]);
      expect((await ask()).attempts).toBe(2);
      const [first, second] = (await server.requests()).map(({ time }) => time);
      expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(0.297);
    });

    it('halves what goes out together, once for a burst', async () => {
      const limiter = new Limiter(32, 1000);
      const client = makeClient({ limiter });
      await ask(client);
      await server.script([{ status: 429, times: 16, together: 16 }]);
      await Promise.all(Array.from({ length: 16 }, () => ask(client)));
      expect(limiter.limit).toBe(16);
      await Promise.all(Array.from({ length: 40 }, () => ask(client)));
      expect(limiter.limit).toBeGreaterThan(16);
    });

    it('that is a used-up quota is one call, and holds nobody', async () => {
      const error = { code: 'insufficient_quota', message: 'You exceeded your current quota' };
      const headers: Step['headers'] = [['retry-after', '60']];
      await server.script([{ status: 429, headers, reply: { json: { error } } }]);
      const client = makeClient();
      expect((await failure(ask(client))).code).toBe('quota_exhausted');
      expect(await calls()).toBe(1);
      expect((await ask(client)).attempts).toBe(1);
    });
  });
});
