import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type ModelServer,
  type Step,
  startModelServer,
} from '../../../../tests/fakes/model-server.js';
import { type Cancellation, Canceller } from '../core/cancel.js';
import { systemClock, systemRandom } from '../core/clock.js';
import { type Deadline, startDeadline } from '../core/deadline.js';
import { encodeText } from '../core/encoded-text.js';
import { redactor } from '../core/redact.js';
import type { RetryPolicy } from '../core/retry.js';
import { Limiter } from './limiter.js';
import { library } from './node-http.js';
import { RemoteClient } from './remote-client.js';
import { nodeTransport } from './transport-node.js';
import { undiciTransport } from './transport-undici.js';
import type { HttpTransport, ModelReply, ModelRequest } from './types.js';

const KEY = 'sk-secret-0123456789';
const QUICK: RetryPolicy = { attempts: 4, baseMs: 10, maxMs: 40, minGapMs: 5 };
const REQUEST: ModelRequest = {
  model: 'm',
  system: encodeText('You judge.'),
  user: 'a text with "quotes" and ü',
  schema: {
    name: 'verdict',
    json: '{"type":"object","properties":{"quality":{"type":"number","minimum":0,"maximum":1}}}',
  },
};

const TRANSPORTS: [name: string, make: (origin: string, connections: number) => HttpTransport][] = [
  ['undici', (origin, connections) => undiciTransport({ origin, connections, proxy: null })],
  ['node:http', (origin) => nodeTransport(origin, library)],
];

/** Patient, for machines with much else to do. */
const eventually = <T>(check: () => T) => vi.waitFor(check, { timeout: 10_000, interval: 10 });

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.close());
beforeEach(() => server.reset());

describe.each(TRANSPORTS)('over %s', (_name, makeTransport) => {
  const opened: { close(): Promise<void> }[] = [];
  const deadlines: Deadline[] = [];
  afterEach(async () => {
    for (const deadline of deadlines.splice(0)) deadline.release();
    await Promise.all(opened.splice(0).map((client) => client.close()));
  });

  function makeClient(options: Partial<RetryPolicy> & { origin?: string; concurrency?: number }) {
    const { origin = server.origin, concurrency = 64, ...retry } = options;
    const client = new RemoteClient({
      judging: {
        path: '/v1/chat/completions',
        displayUrl: `${origin}/v1/chat/completions`,
        headers: { authorization: `Bearer ${KEY}` },
      },
      transport: makeTransport(origin, concurrency),
      limiter: new Limiter(concurrency, 1000),
      retry: { ...QUICK, ...retry },
      clock: systemClock,
      random: systemRandom,
      redact: redactor([KEY]),
    });
    opened.push(client);
    return client;
  }

  function within(ms: number, caller?: Cancellation): Deadline {
    const deadline = startDeadline(systemClock, ms, caller);
    deadlines.push(deadline);
    return deadline;
  }

  /** One call after a script. */
  async function call(steps: Step[], retry: Partial<RetryPolicy> = {}): Promise<ModelReply> {
    await server.script(steps);
    return makeClient(retry).complete(REQUEST, within(10_000));
  }

  async function failure(steps: Step[], retry: Partial<RetryPolicy> = {}): Promise<AgentEvalError> {
    const error = await call(steps, retry).then(
      () => expect.unreachable('the call must fail'),
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(AgentEvalError);
    return error as AgentEvalError;
  }

  const calls = async () => (await server.stats()).calls;

  describe('a plain call', () => {
    it('is one request that says what is asked, and no more', async () => {
      const reply = await call([]);
      expect(JSON.parse(reply.text)).toEqual({ quality: 0.8 });
      const known = { refusal: null, finishReason: 'stop', model: 'm', attempts: 1 };
      expect(reply).toMatchObject({ ...known, replyMode: 'json_schema', droppedParams: [] });
      const [request, ...others] = await server.requests();
      expect(others).toEqual([]);
      expect(request?.path).toBe('/v1/chat/completions');
      expect(request?.body).toEqual({
        model: 'm',
        messages: [
          { role: 'system', content: 'You judge.' },
          { role: 'user', content: REQUEST.user },
        ],
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'verdict', strict: true, schema: JSON.parse(REQUEST.schema.json) },
        },
      });
      const headers = new Map(request?.headers.map(([name, value]) => [name.toLowerCase(), value]));
      expect(headers.get('authorization')).toBe(`Bearer ${KEY}`);
      expect(headers.get('content-type')).toBe('application/json');
    });

    it('sends the parameters that were asked for', async () => {
      const client = makeClient({});
      const asked = { ...REQUEST, temperature: 0, seed: 7, maxTokens: 100 };
      await client.complete(asked, within(10_000));
      const [request] = await server.requests();
      expect(request?.body).toMatchObject({ temperature: 0, seed: 7, max_tokens: 100 });
    });

    it('keeps usage, and does without where it is missing or broken', async () => {
      const details = { prompt_tokens_details: { cached_tokens: 3 } };
      await server.script([
        { usage: { prompt_tokens: 5, completion_tokens: 2, ...details } },
        { usage: { prompt_tokens: 5, completion_tokens: null } },
        { usage: null },
        { usage: 'absent' },
      ]);
      const client = makeClient({});
      const usages: ModelReply['usage'][] = [];
      for (let i = 0; i < 4; i += 1) {
        usages.push((await client.complete(REQUEST, within(10_000))).usage);
      }
      expect(usages[0]).toEqual({ inputTokens: 5, outputTokens: 2, cachedInputTokens: 3 });
      expect(usages.slice(1)).toEqual([null, null, null]);
    });

    it('keeps its connection for calls one after another', async () => {
      const client = makeClient({});
      for (let i = 0; i < 30; i += 1) await client.complete(REQUEST, within(10_000));
      const stats = await server.stats();
      expect(stats.calls).toBe(30);
      // undici ends a body a moment before its connection is free, so it may take a second one.
      expect(stats.connections).toBeLessThanOrEqual(2);
    });

    it('reads answers that come compressed, in pieces, or late', async () => {
      const raw = '{"choices":[{"message":{"content":"ok"}}]}';
      const reply = await call([{ reply: { raw, encoding: 'gzip' } }]);
      expect(reply.text).toBe('ok');
      expect((await call([{ reply: { raw, encoding: 'br' } }])).text).toBe('ok');
      expect((await call([{ chunks: { count: 5, delayMs: 10 } }])).text).toContain('0.8');
      expect((await call([{ delayMs: 50, headersThenDelayMs: 50 }])).text).toContain('0.8');
    });
  });

  describe('trying again', () => {
    it.each<[string, Step]>([
      ['429', { status: 429 }],
      ['500', { status: 500 }],
      ['502 with a page', { status: 502, reply: { raw: '<html>Bad gateway</html>' } }],
      ['503', { status: 503 }],
      ['524', { status: 524 }],
      ['529', { status: 529 }],
      ['an error body with status 200', { reply: { json: { error: { message: 'busy' } } } }],
      ['a reset', { drop: 'rst' }],
      ['an end before the headers', { drop: 'before-headers' }],
      ['an end after the headers', { drop: 'after-headers' }],
      ['an end within the body', { drop: 'mid-body' }],
      ['an end within a chunked body', { drop: 'mid-body', chunks: { count: 3 } }],
      ['half a gzip body', { reply: { raw: '{"choices":[]}', encoding: 'gzip', keep: 0.5 } }],
      ['gzip in name only', { reply: { raw: '{}' }, headers: [['content-encoding', 'gzip']] }],
      [
        'gzip that nothing announces',
        { reply: { raw: 'x', encoding: 'gzip', encodingHeader: null } },
      ],
    ])('helps after %s', async (_name, step) => {
      const reply = await call([step]);
      expect(reply.attempts).toBe(2);
      expect(reply.text).toContain('0.8');
      expect(await calls()).toBe(2);
    });

    it.each<[string, Step, string]>([
      ['401', { status: 401 }, 'provider_auth'],
      ['403', { status: 403 }, 'provider_auth'],
      ['404', { status: 404 }, 'model_not_found'],
      ['400', { status: 400 }, 'provider_error'],
      ['a used-up quota', quota(), 'quota_exhausted'],
      ['a refused key in a 200', { reply: { json: { error: { code: 401 } } } }, 'provider_auth'],
    ])('is no use after %s: one request', async (_name, step, code) => {
      expect((await failure([{ ...step, times: 'forever' }])).code).toBe(code);
      expect(await calls()).toBe(1);
    });

    it('ends after so many requests', async () => {
      const error = await failure([{ status: 503, times: 'forever' }], { attempts: 3 });
      expect(error.code).toBe('provider_error');
      expect(error.message).toContain('after 3 requests');
      expect(error.details).toMatchObject({ attempts: 3 });
      expect(await calls()).toBe(3);
    });

    it.each([{ status: 500 }, { status: 429 }, { drop: 'rst' }] satisfies Step[])(
      'does not happen when retries are set to 0: %j',
      async (step) => {
        await failure([{ ...step, times: 'forever' }], { attempts: 1 });
        expect(await calls()).toBe(1);
      },
    );

    it('waits longer each time, and never less than the least gap', async () => {
      const policy = { attempts: 4, baseMs: 60, maxMs: 10_000, minGapMs: 50 };
      await failure([{ status: 500, times: 'forever' }], policy);
      const gaps = await gapsMs();
      expect(gaps).toHaveLength(3);
      gaps.forEach((gap, i) => {
        expect(gap).toBeGreaterThanOrEqual(Math.max(50, 30 * 2 ** i) - 3);
      });
    });

    it.each<[string, Step['headers'], number]>([
      ['whole seconds', [['retry-after', '1']], 1000],
      ['a fraction', [['retry-after', '0.3']], 300],
      ['milliseconds', [['retry-after-ms', '250']], 250],
      [
        'milliseconds before seconds',
        [
          ['retry-after', '9'],
          ['retry-after-ms', '250'],
        ],
        250,
      ],
    ])('waits as long as Retry-After asks: %s', async (_name, headers = [], ms) => {
      expect((await call([{ status: 429, headers }])).attempts).toBe(2);
      const [gap] = await gapsMs();
      expect(gap).toBeGreaterThanOrEqual(ms - 3);
      expect(gap).toBeLessThan(ms * 1.1 + 1000);
    });

    it.each(['soon', 'NaN', '-5', '1e9', 'Wed, 21 Oct 99999 07:28:00 GMT', ''])(
      'backs off as usual when Retry-After is %j',
      async (value) => {
        expect((await call([{ status: 429, headers: [['retry-after', value]] }])).attempts).toBe(2);
        expect((await gapsMs())[0]).toBeGreaterThan(QUICK.minGapMs - 1);
      },
    );

    it('gives up at once when the wait does not fit the deadline', async () => {
      const started = performance.now();
      const error = await failure([{ status: 429, headers: [['retry-after', '1800']] }]);
      expect(performance.now() - started).toBeLessThan(5000);
      expect(error.code).toBe('rate_limited');
      expect(error.details).toMatchObject({ retryAfterMs: 1_800_000, attempts: 1 });
      expect(await calls()).toBe(1);
    });

    async function gapsMs(): Promise<number[]> {
      const times = (await server.requests()).map(({ time }) => time * 1000);
      return times.slice(1).map((time, i) => time - (times[i] ?? 0));
    }
  });

  describe('a call that ends early', () => {
    const SLOW: [string, Step][] = [
      ['before the headers', { delayMs: 60_000 }],
      ['after the headers', { headersThenDelayMs: 60_000 }],
      ['within the body', { chunks: { count: 2, delayMs: 60_000 } }],
    ];

    it.each(SLOW)('at its deadline, %s: the connection closes', async (_name, step) => {
      await server.script([step]);
      const started = performance.now();
      await stopped(makeClient({}), within(500), 'timeout');
      expect(performance.now() - started).toBeLessThan(5000);
      await seenLeaving();
    });

    it.each(SLOW)('cancelled by its caller, %s: the connection closes', async (_name, step) => {
      await server.script([step]);
      const caller = new Canceller();
      const ended = stopped(makeClient({}), within(60_000, caller), 'cancelled');
      await eventually(async () => expect(await calls()).toBe(1));
      caller.stop();
      await ended;
      await seenLeaving();
    });

    it('while it waits to try again: no further request', async () => {
      await server.script([{ status: 500, times: 'forever' }]);
      const caller = new Canceller();
      const client = makeClient({ baseMs: 30_000, maxMs: 30_000 });
      const ended = stopped(client, within(60_000, caller), 'cancelled');
      await eventually(async () => expect((await server.requests())[0]?.outcome).toBe('answered'));
      caller.stop();
      await ended;
      expect(await calls()).toBe(1);
    });

    it('while it waits for a place: no request at all', async () => {
      await server.script([{ delayMs: 60_000 }]);
      const client = makeClient({ concurrency: 1 });
      const caller = new Canceller();
      const first = stopped(client, within(60_000, caller), 'cancelled');
      await eventually(async () => expect(await calls()).toBe(1));
      await stopped(client, within(100), 'timeout');
      expect(await calls()).toBe(1);
      caller.stop();
      await first;
    });

    it('leaves the client usable', async () => {
      await server.script([{ delayMs: 60_000 }]);
      const client = makeClient({ concurrency: 1 });
      await stopped(client, within(100), 'timeout');
      expect((await client.complete(REQUEST, within(10_000))).attempts).toBe(1);
    });

    async function stopped(
      client: RemoteClient,
      deadline: Deadline,
      why: 'timeout' | 'cancelled',
    ): Promise<void> {
      // What is thrown differs between transports; the deadline knows why.
      await expect(client.complete(REQUEST, deadline)).rejects.not.toBeInstanceOf(AgentEvalError);
      expect(deadline.stopReason()).toBe(why);
    }

    async function seenLeaving(): Promise<void> {
      await eventually(async () => {
        expect((await server.requests()).map(({ outcome }) => outcome)).toEqual(['client-gone']);
      });
    }
  });

  describe('the key', () => {
    it.each([400, 401, 429, 500])(
      'stays out of the error after a %i that repeats it',
      async (status) => {
        const json = { error: { message: `the key ${KEY} is not welcome`, code: KEY } };
        const error = await failure([{ status, reply: { json } }], { attempts: 1 });
        expect(error.message).toContain('is not welcome');
        expect(JSON.stringify([error.toBody(), String(error), error.stack])).not.toContain(KEY);
      },
    );

    it('stays out of the error when nobody answers', async () => {
      const client = makeClient({ origin: 'http://127.0.0.1:1', attempts: 1 });
      const error = await client.complete(REQUEST, within(10_000)).catch((reason) => reason);
      expect(error).toMatchObject({ code: 'provider_error', retryable: true });
      expect(error.message).toContain('could not be reached (');
      expect(error.message).not.toContain(KEY);
    });

    it.each([301, 302, 303, 307, 308])('does not follow a %i elsewhere', async (status) => {
      const location = `${server.origin}/v1/elsewhere`;
      const error = await failure([{ status, headers: [['location', location]], reply: {} }]);
      expect(error.code).toBe('provider_error');
      expect((await server.requests()).map(({ path }) => path)).toEqual(['/v1/chat/completions']);
    });
  });

  describe('many calls', () => {
    it('go out 64 at once', async () => {
      await server.script([], { together: 64 });
      const client = makeClient({});
      const replies = await Promise.all(
        Array.from({ length: 64 }, () => client.complete(REQUEST, within(20_000))),
      );
      expect(replies.every(({ attempts }) => attempts === 1)).toBe(true);
      expect(await server.stats()).toMatchObject({ calls: 64, connections: 64 });
    });

    it('get each its own answer, over no more connections than allowed', async () => {
      await server.script([], { mode: 'hash', delayMs: 5 });
      const client = makeClient({ concurrency: 8 });
      const ask = async (i: number) =>
        (await client.complete({ ...REQUEST, user: `text ${i % 50}` }, within(20_000))).text;
      const texts = await Promise.all(Array.from({ length: 200 }, (_, i) => ask(i)));
      expect(texts.slice(50)).toEqual(texts.slice(0, 150));
      expect(new Set(texts).size).toBeGreaterThan(20);
      expect((await server.stats()).connections).toBeLessThanOrEqual(8);
    });
  });
});

function quota(): Step {
  const error = { message: 'You exceeded your current quota', code: 'insufficient_quota' };
  return { status: 429, reply: { json: { error } } };
}
