import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type ModelServer,
  type RecordedRequest,
  type Step,
  startModelServer,
} from '../../../../../tests/fakes/model-server.js';
import { systemClock } from '../../core/clock.js';
import { type Deadline, startDeadline } from '../../core/deadline.js';
import type { DialectName } from '../../core/dialect-name.js';
import { encodeText } from '../../core/encoded-text.js';
import { endpointAddress } from '../endpoint-address.js';
import { type Endpoint, ProviderRegistry } from '../registry.js';
import { undiciTransport } from '../transport-undici.js';
import type { ModelReply, ModelRequest } from '../types.js';

const REQUEST: ModelRequest = {
  model: 'm',
  system: encodeText('You judge.'),
  user: 'a text',
  schema: {
    name: 'verdict',
    json: '{"type":"object","properties":{"minimum":{"type":"number","minimum":0,"maximum":5},"wins":{"type":"array","items":{"type":"string"},"maxItems":0}},"required":["minimum","wins"]}',
  },
};

let server: ModelServer;
let registry: ProviderRegistry;
const deadlines: Deadline[] = [];
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.close());
beforeEach(async () => {
  await server.reset();
  registry = new ProviderRegistry({
    attempts: 1,
    concurrency: 4,
    queueLimit: 10,
    createTransport: async ({ origin }, connections) =>
      undiciTransport({ origin, connections, proxy: null }),
  });
});
afterEach(async () => {
  for (const deadline of deadlines.splice(0)) deadline.release();
  await registry.close();
});

async function ask(
  dialect: DialectName,
  step: Step = {},
  more: Partial<ModelRequest> = {},
  path = '/v1',
): Promise<ModelReply> {
  await server.script([step]);
  const { origin } = server;
  const place = {
    origin,
    path,
    query: '',
    apiKey: 'k-0123456789',
    basicAuth: null,
    loopback: true,
  };
  const client = await registry.client({ ...place, dialect });
  const deadline = startDeadline(systemClock, 20_000);
  deadlines.push(deadline);
  return client.complete({ ...REQUEST, ...more }, deadline);
}

async function failure(
  dialect: DialectName,
  status: number,
  json: object,
): Promise<AgentEvalError> {
  const error = await ask(dialect, { status, reply: { json } }).then(
    () => expect.unreachable('the call must fail'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AgentEvalError);
  return error as AgentEvalError;
}

const answer = (json: object): Step => ({ reply: { json } });

async function sent(): Promise<RecordedRequest> {
  const [request] = await server.requests();
  return request ?? expect.unreachable('nothing was sent');
}

describe('anthropic', () => {
  const message = (more: object): Step =>
    answer({ type: 'message', model: 'claude', content: [], stop_reason: 'end_turn', ...more });

  it('sends a limit of its own where none is asked for, and no keyword it refuses', async () => {
    await ask('anthropic');
    expect((await sent()).body).toEqual({
      model: 'm',
      max_tokens: 4096,
      system: 'You judge.',
      messages: [{ role: 'user', content: 'a text' }],
      output_config: {
        format: {
          type: 'json_schema',
          schema: {
            type: 'object',
            properties: {
              minimum: { type: 'number' },
              wins: { type: 'array', items: { type: 'string' } },
            },
            required: ['minimum', 'wins'],
          },
        },
      },
    });
    const headers = new Map((await sent()).headers.map(([k, v]) => [k.toLowerCase(), v]));
    expect(headers.get('anthropic-version')).toBe('2023-06-01');
    expect(headers.get('authorization')).toBeUndefined();
  });

  it('sends no empty reply and no white space at the end of one', async () => {
    const followUps = [
      { reply: '', ask: 'again' },
      { reply: 'x \n', ask: 'and again' },
    ];
    await ask('anthropic', {}, { followUps });
    const { messages } = (await sent()).body as { messages: { content: string }[] };
    expect(messages.map(({ content }) => content)).toEqual([
      'a text',
      '(no answer)',
      'again',
      'x',
      'and again',
    ]);
  });

  it('tells thinking, text and tool input apart', async () => {
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'text', text: '{"a":' },
      { type: 'text', text: '1}' },
    ];
    expect(await ask('anthropic', message({ content }))).toMatchObject({
      text: '{"a":1}',
      reasoning: 'hm',
      refusal: null,
      finishReason: 'stop',
      model: 'claude',
      usage: null,
    });
    const call = [{ type: 'tool_use', id: 't', name: 'verdict', input: { a: 1 } }];
    const reply = await ask('anthropic', message({ content: call, stop_reason: 'tool_use' }));
    expect(reply.text).toBe('{"a":1}');
  });

  it('adds up the three counts of its input', async () => {
    const usage = {
      input_tokens: 10,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 1000,
      output_tokens: 7,
    };
    const { usage: read } = await ask('anthropic', message({ usage }));
    expect(read).toEqual({ inputTokens: 1110, outputTokens: 7, cachedInputTokens: 100 });
  });

  it.each([
    ['refusal', 'content_filter'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['stop_sequence', 'stop'],
    ['something_new', 'something_new'],
  ])('reads the stop reason %s', async (stop_reason, finishReason) => {
    const reply = await ask('anthropic', message({ stop_reason }));
    expect(reply.finishReason).toBe(finishReason);
    expect(reply.refusal === null).toBe(stop_reason !== 'refusal');
  });

  it('gives the reason of a refusal', async () => {
    const stop_details = { type: 'refusal', category: 'cyber', explanation: 'No exploits.' };
    const reply = await ask('anthropic', message({ stop_reason: 'refusal', stop_details }));
    expect(reply.refusal).toBe('No exploits. (cyber)');
  });

  it.each([
    [400, 'invalid_request_error', 'Your credit balance is too low', 'quota_exhausted'],
    [
      400,
      'invalid_request_error',
      'prompt is too long: 210000 tokens > 200000 maximum',
      'context_overflow',
    ],
    [401, 'authentication_error', 'invalid x-api-key', 'provider_auth'],
    [402, 'billing_error', 'no', 'quota_exhausted'],
    [403, 'permission_error', 'no', 'provider_auth'],
    [404, 'not_found_error', 'model: m', 'model_not_found'],
    [429, 'rate_limit_error', 'slow down', 'rate_limited'],
    [529, 'overloaded_error', 'Overloaded', 'provider_error'],
  ])('means by %i %s: %s', async (status, type, said, code) => {
    const error = await failure('anthropic', status, {
      type: 'error',
      error: { type, message: said },
    });
    expect(error.code).toBe(code);
    if (code === 'context_overflow') {
      expect(error.details).toMatchObject({ sentTokens: 210_000, limitTokens: 200_000 });
    }
  });

  it('does not take a complaint about the schema for one about schemas', async () => {
    const message =
      "output_config.format.schema: For 'number' type, properties maximum are not supported";
    const error = await failure('anthropic', 400, {
      error: { type: 'invalid_request_error', message },
    });
    expect(error.code).toBe('provider_error');
    expect((await server.stats()).calls).toBe(1);
  });

  it('says so when it is answered with an event stream', async () => {
    const raw = 'event: message_start\ndata: {"type":"message_start"}\n\n';
    await expect(ask('anthropic', { reply: { raw } })).rejects.toThrow('event stream');
  });
});

describe('gemini', () => {
  const content = (more: object): Step =>
    answer({
      candidates: [{ content: { parts: [{ text: '{}' }] }, finishReason: 'STOP', ...more }],
    });

  it('has nothing in its body that was not asked for', async () => {
    await ask('gemini', {}, { followUps: [{ reply: '', ask: 'again' }] }, '/v1beta');
    const { path, body } = await sent();
    expect(path).toBe('/v1beta/models/m:generateContent');
    expect(body).toEqual({
      systemInstruction: { parts: [{ text: 'You judge.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'a text' }] },
        { role: 'model', parts: [{ text: '(no answer)' }] },
        { role: 'user', parts: [{ text: 'again' }] },
      ],
      generationConfig: {
        responseMimeType: 'application/json',
        responseJsonSchema: JSON.parse(REQUEST.schema.json),
      },
    });
  });

  it.each([
    ['models/gemini-x', '/v1/models/gemini-x:generateContent'],
    ['a/../b?c', '/v1/models/a%2F..%2Fb%3Fc:generateContent'],
    ['\ud800', '/v1/models/%EF%BF%BD:generateContent'],
  ])('keeps a model within its place in the path: %j', async (model, path) => {
    await ask('gemini', {}, { model });
    expect((await sent()).path).toBe(path);
  });

  it('tells thoughts, text and calls apart', async () => {
    const parts = [
      { text: 'hm', thought: true },
      { text: '{"a":' },
      { text: '1}', thoughtSignature: 's' },
    ];
    const reply = await ask('gemini', content({ content: { parts } }));
    expect(reply).toMatchObject({ text: '{"a":1}', reasoning: 'hm', finishReason: 'stop' });
    const call = [{ functionCall: { name: 'verdict', args: { a: 1 } } }];
    expect((await ask('gemini', content({ content: { parts: call } }))).text).toBe('{"a":1}');
  });

  it('counts what it thought as output, and a count left out as none', async () => {
    const usageMetadata = {
      promptTokenCount: 90,
      cachedContentTokenCount: 30,
      thoughtsTokenCount: 5,
    };
    const { usage } = await ask('gemini', answer({ candidates: [], usageMetadata }));
    expect(usage).toEqual({ inputTokens: 90, cachedInputTokens: 30, outputTokens: 5 });
  });

  it.each([
    ['MAX_TOKENS', 'length', false],
    ['SAFETY', 'content_filter', true],
    ['PROHIBITED_CONTENT', 'content_filter', true],
    ['MALFORMED_FUNCTION_CALL', 'MALFORMED_FUNCTION_CALL', false],
  ])('reads the finish reason %s', async (finishReason, read, refused) => {
    const reply = await ask('gemini', content({ finishReason }));
    expect([reply.finishReason, reply.refusal !== null]).toEqual([read, refused]);
  });

  it('names what a blocked prompt or reply was blocked for', async () => {
    const safetyRatings = [
      { category: 'HARM_CATEGORY_HARASSMENT', probability: 'NEGLIGIBLE' },
      { category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'HIGH', blocked: true },
    ];
    const categories = { HARM_CATEGORY_DANGEROUS_CONTENT: 'HIGH' };
    const promptFeedback = { blockReason: 'SAFETY', safetyRatings };
    const prompt = await ask('gemini', answer({ promptFeedback }));
    expect(prompt).toMatchObject({ refusal: 'the prompt was blocked (SAFETY)', categories });
    const reply = await ask('gemini', content({ finishReason: 'SAFETY', safetyRatings }));
    expect(reply).toMatchObject({ refusal: 'the reply was stopped (SAFETY)', categories });
  });

  it('asks for log probabilities in its own words, and reads them', async () => {
    const logprobsResult = {
      chosenCandidates: [{ token: '4', logProbability: -0.1 }],
      topCandidates: [
        {
          candidates: [
            { token: '4', logProbability: -0.1 },
            { token: '3', logProbability: -2 },
          ],
        },
      ],
    };
    const { logprobs } = await ask('gemini', content({ logprobsResult }), { topLogprobs: 5 });
    expect(logprobs).toEqual([
      {
        token: '4',
        logprob: -0.1,
        top: [
          { token: '4', logprob: -0.1 },
          { token: '3', logprob: -2 },
        ],
      },
    ]);
    expect((await sent()).body).toMatchObject({
      generationConfig: { responseLogprobs: true, logprobs: 5 },
    });
  });

  const limited = (quotaIds: string[], retryDelay?: string) => ({
    error: {
      code: 429,
      status: 'RESOURCE_EXHAUSTED',
      message: 'You exceeded your current quota, please check your plan and billing details.',
      details: [
        { '@type': 'QuotaFailure', violations: quotaIds.map((quotaId) => ({ quotaId })) },
        ...(retryDelay === undefined ? [] : [{ '@type': 'RetryInfo', retryDelay }]),
      ],
    },
  });

  it.each([
    [
      limited(['GenerateRequestsPerMinutePerProjectPerModel-FreeTier'], '34s'),
      'rate_limited',
      34_000,
    ],
    [
      limited(['GenerateRequestsPerDayPerProjectPerModel-FreeTier'], '34s'),
      'quota_exhausted',
      34_000,
    ],
    [limited([], '7s'), 'rate_limited', 7000],
    [limited([]), 'quota_exhausted', undefined],
  ])('tells a passing limit from a quota: %j', async (json, code, retryAfterMs) => {
    const error = await failure('gemini', 429, json);
    expect(error.code).toBe(code);
    expect(error.details?.retryAfterMs).toBe(retryAfterMs);
  });

  it.each([
    [400, 'API key not valid. Please pass a valid API key.', 'provider_auth'],
    [
      400,
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      'context_overflow',
    ],
    [
      404,
      'models/m is not found for API version v1beta, or is not supported for generateContent.',
      'model_not_found',
    ],
    [503, 'The model is overloaded.', 'provider_error'],
  ])('means by %i: %s', async (status, message, code) => {
    const error = await failure('gemini', status, { error: { code: status, message } });
    expect(error.code).toBe(code);
    if (code === 'context_overflow') {
      expect(error.details).toMatchObject({ sentTokens: 1_200_000, limitTokens: 1_048_576 });
    }
  });
});

describe('openai-responses', () => {
  const response = (more: object): Step =>
    answer({ status: 'completed', error: null, output: [], ...more });
  const message = (...content: object[]) => ({ type: 'message', role: 'assistant', content });

  it('asks for nothing to be stored, and sends what was asked for', async () => {
    await ask('openai-responses', {}, { topLogprobs: 5, seed: 7 });
    expect((await sent()).body).toEqual({
      model: 'm',
      store: false,
      input: [
        { role: 'system', content: 'You judge.' },
        { role: 'user', content: 'a text' },
      ],
      text: {
        format: {
          type: 'json_schema',
          name: 'verdict',
          strict: true,
          schema: JSON.parse(REQUEST.schema.json),
        },
      },
      top_logprobs: 5,
      include: ['message.output_text.logprobs'],
    });
  });

  it('reads text, reasoning, probabilities and usage', async () => {
    const logprobs = [{ token: '4', logprob: -0.1, top_logprobs: [{ token: '3', logprob: -2 }] }];
    const output = [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
      message(
        { type: 'output_text', text: '{"a":', logprobs },
        { type: 'output_text', text: '1}' },
      ),
    ];
    const usage = {
      input_tokens: 50,
      input_tokens_details: { cached_tokens: 20 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 4 },
      total_tokens: 59,
    };
    expect(await ask('openai-responses', response({ output, usage, model: 'o' }))).toMatchObject({
      text: '{"a":1}',
      reasoning: 'hm',
      finishReason: 'stop',
      model: 'o',
      usage: { inputTokens: 50, outputTokens: 9, cachedInputTokens: 20 },
      logprobs: [{ token: '4', logprob: -0.1, top: [{ token: '3', logprob: -2 }] }],
    });
  });

  it('reads a call, and a refusal', async () => {
    const call = { type: 'function_call', name: 'verdict', arguments: '{"a":1}' };
    expect((await ask('openai-responses', response({ output: [call] }))).text).toBe('{"a":1}');
    const refused = message({ type: 'refusal', refusal: 'I would rather not.' });
    const { refusal } = await ask('openai-responses', response({ output: [refused] }));
    expect(refusal).toBe('I would rather not.');
  });

  it.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'content_filter'],
  ])('reads that a reply is incomplete: %s', async (reason, finishReason) => {
    const step = response({ status: 'incomplete', incomplete_details: { reason } });
    expect((await ask('openai-responses', step)).finishReason).toBe(finishReason);
  });

  it.each([
    ['server_error', 'provider_error'],
    ['rate_limit_exceeded', 'rate_limited'],
  ])('takes a failed response for what it is: %s', async (code, expected) => {
    const error = await failure('openai-responses', 200, {
      status: 'failed',
      error: { code, message: 'no' },
      output: [],
    });
    expect(error.code).toBe(expected);
  });
});

describe('azure', () => {
  it.each([
    ['/openai', '/openai/deployments/m/chat/completions'],
    ['/openai/v1', '/openai/v1/chat/completions'],
    ['/openai/deployments/d2', '/openai/deployments/d2/chat/completions'],
  ])('asks below %s', async (base, path) => {
    await ask('azure', {}, {}, base);
    expect((await sent()).path).toBe(path);
  });

  it('says what a filter objected to, whatever the status', async () => {
    const violence = { filtered: true, severity: 'medium' };
    const hate = { filtered: false, severity: 'safe' };
    const error = await failure('azure', 400, {
      error: {
        code: 'content_filter',
        message: 'no',
        innererror: { content_filter_result: { violence, hate } },
      },
    });
    expect(error.code).toBe('judge_refused');
    expect(error.details).toMatchObject({ categories: { violence: 'medium' } });
    const choice = { finish_reason: 'content_filter', message: { content: '' } };
    const reply = await ask(
      'azure',
      answer({ choices: [{ ...choice, content_filter_results: { violence, hate } }] }),
    );
    expect(reply).toMatchObject({
      finishReason: 'content_filter',
      categories: { violence: 'medium' },
    });
  });

  it('waits out a limit that offers to raise a quota', async () => {
    const message =
      'Requests have exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after 6 seconds. Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the default rate limit.';
    expect((await failure('azure', 429, { error: { code: '429', message } })).code).toBe(
      'rate_limited',
    );
  });
});

describe('xai', () => {
  it.each([
    [
      400,
      'Incorrect API key provided: xa***yz. You can obtain an API key from the console.',
      'provider_auth',
    ],
    [
      403,
      'Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_DATA_LEAKAGE',
      'judge_refused',
    ],
    [
      429,
      'Your team has used all available credits or reached its monthly spending limit.',
      'quota_exhausted',
    ],
    [
      400,
      "This model's maximum prompt length is 131072 but the request contains 149000 tokens.",
      'context_overflow',
    ],
  ])('means by %i: %s', async (status, said, code) => {
    const error = await failure('xai', status, { code: 'some words', error: said });
    expect(error.code).toBe(code);
    if (code === 'judge_refused') {
      const categories = { SAFETY_CHECK_TYPE_DATA_LEAKAGE: 'filtered' };
      expect(error.details).toMatchObject({ categories });
    }
    if (code === 'context_overflow') {
      expect(error.details).toMatchObject({ sentTokens: 149_000, limitTokens: 131_072 });
    }
  });

  it('adds what the model thought where it is counted beside its answer', async () => {
    const completion_tokens_details = { reasoning_tokens: 300 };
    const usage = {
      prompt_tokens: 30,
      completion_tokens: 10,
      total_tokens: 340,
      completion_tokens_details,
    };
    expect((await ask('xai', { usage })).usage).toEqual({ inputTokens: 30, outputTokens: 310 });
    const within = { ...usage, completion_tokens: 310 };
    expect((await ask('xai', { usage: within })).usage).toEqual({
      inputTokens: 30,
      outputTokens: 310,
    });
  });
});

describe.each(['xai', 'cerebras'] as const)('%s', (dialect) => {
  it('sends schemas that do not limit lists', async () => {
    await ask(dialect);
    expect((await sent()).body).toMatchObject({
      response_format: {
        json_schema: {
          schema: {
            properties: {
              minimum: { type: 'number', minimum: 0, maximum: 5 },
              wins: { type: 'array', items: { type: 'string' } },
            },
          },
        },
      },
    });
    expect(JSON.stringify((await sent()).body)).not.toContain('maxItems');
  });
});

describe('openrouter', () => {
  const usage = { prompt_tokens: 30, completion_tokens: 10 };

  it.each([
    [{ cost: 0.25 }, 0.25],
    [{ cost: 0 }, 0],
    [{ cost: 0.5, is_byok: true, cost_details: { upstream_inference_cost: 0.25 } }, 0.75],
    [{ cost: 0.5, is_byok: true }, null],
    [{ cost: '0.25' }, null],
    [{}, null],
  ])('takes the cost that it reports: %j', async (more, costUsd) => {
    expect((await ask('openrouter', { usage: { ...usage, ...more } })).costUsd).toBe(costUsd);
  });

  it('names what its filter objected to', async () => {
    const metadata = { reasons: ['violence'], flagged_input: 'a text' };
    const error = await failure('openrouter', 403, {
      error: { code: 403, message: 'flagged', metadata },
    });
    expect(error.code).toBe('judge_refused');
    expect(error.details).toMatchObject({ categories: { violence: 'filtered' } });
    const key = await failure('openrouter', 403, { error: { code: 403, message: 'no' } });
    expect(key.code).toBe('provider_auth');
  });

  it('learns from what the provider behind it said', async () => {
    const raw = '{"error":{"message":"response_format is not supported by this model"}}';
    const json = { error: { code: 400, message: 'Provider returned error', metadata: { raw } } };
    const step: Step = {
      match: { bodyContains: 'json_schema' },
      times: 'forever',
      status: 400,
      reply: { json },
    };
    expect((await ask('openrouter', step)).replyMode).toBe('tool_call');
  });
});

it('keeps two dialects at one address apart', async () => {
  const place = {
    origin: server.origin,
    path: '/v1',
    query: '',
    apiKey: 'k-0123456789',
    basicAuth: null,
    loopback: true,
  };
  const spoken: Endpoint[] = [
    place,
    { ...place, dialect: 'anthropic' },
    { ...place, dialect: 'xai' },
  ];
  const clients = await Promise.all(spoken.map((endpoint) => registry.client(endpoint)));
  expect(new Set(clients).size).toBe(3);
  expect(new Set(spoken.map(endpointAddress)).size).toBe(3);
  expect(endpointAddress(place)).toBe(`${server.origin}/v1?`);
});
