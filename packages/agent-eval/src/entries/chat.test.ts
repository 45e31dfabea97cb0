import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type ModelServer,
  type Step,
  startModelServer,
} from '../../../../tests/fakes/model-server.js';
import { dispatch } from '../api/dispatch.js';
import { resolveSettings } from '../config/resolve.js';
import { Canceller } from '../core/cancel.js';
import { composeEngine, type Engine } from './compose.js';

const KEY = 'sk-chat-test';
let server: ModelServer;
let engine: Engine;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.close());
beforeEach(async () => {
  await server.reset();
  engine = await compose();
});
afterEach(() => engine.close());

async function compose(env: Record<string, string> = {}): Promise<Engine> {
  const all = {
    AGENT_EVAL_LLM_BASE_URL: server.url,
    AGENT_EVAL_LLM_API_KEY: KEY,
    AGENT_EVAL_LLM_MODEL: 'gpt-4o-mini',
    ...env,
  };
  return composeEngine({ env: all, resolved: resolveSettings(all), oneShot: false });
}

type Result = Record<string, unknown>;
const HELLO = [{ role: 'user', content: 'Hello?' }];
const chat = (changes: Record<string, unknown> = {}, on = engine, cancel?: Canceller) =>
  dispatch(
    on.deps,
    'chat',
    { messages: HELLO, ...changes },
    { allowProvider: true, cancel },
  ) as Promise<Result>;
const says = (message: Record<string, unknown>, more: Partial<Step> = {}): Step => ({
  reply: { message: { role: 'assistant', ...message } },
  ...more,
});
const sent = async () => (await server.requests()).map(({ body }) => body as Result);

const TOOL = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } };

describe('a turn', () => {
  it('goes to the model as it is, and comes back in the shape of chat completions', async () => {
    await server.script([
      says({ content: 'Hi.' }, { usage: { prompt_tokens: 7, completion_tokens: 2 } }),
    ]);
    const options = { temperature: 0.3, max_tokens: 20, seed: 4, stop: ['x'], top_p: 0.5 };
    expect(await chat(options)).toMatchObject({
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi.', refusal: null },
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
      costUsd: null,
      attempts: 1,
      droppedParams: [],
    });
    expect(await sent()).toEqual([{ model: 'gpt-4o-mini', messages: HELLO, ...options }]);
  });

  it('calls tools with the arguments as the model wrote them', async () => {
    const written = '{"city" : "K\\u00f6ln",  "days":1e0}';
    const call = { id: 'c1', type: 'function', function: { name: 'weather', arguments: written } };
    await server.script([
      says({ content: null, tool_calls: [call] }, { finishReason: 'tool_calls' }),
      says({ content: 'Rain.' }),
    ]);
    const first = (await chat({ tools: [TOOL], tool_choice: 'required' })) as {
      choices: [{ message: Result; finish_reason: string }];
    };
    const [{ message, finish_reason }] = first.choices;
    expect([message.tool_calls, finish_reason]).toEqual([[call], 'tool_calls']);
    const { refusal: _, ...said } = message;
    const answer = { role: 'tool', tool_call_id: 'c1', content: 'rain' };
    await chat({ messages: [...HELLO, said, answer], tools: [TOOL] });
    expect((await sent())[1]).toMatchObject({ messages: [...HELLO, said, answer], tools: [TOOL] });
  });

  it('has every tool call of an event stream that nobody asked for', async () => {
    const piece = (calls: object[], finish: string | null = null) =>
      `data: ${JSON.stringify({ id: 'r', created: 5, choices: [{ delta: { tool_calls: calls }, finish_reason: finish }] })}\n\n`;
    const raw = [
      piece([{ index: 0, id: 'c1', function: { name: 'weather', arguments: '{"a"' } }]),
      piece([{ index: 1, id: 'c2', function: { name: 'time', arguments: '' } }]),
      piece([{ index: 0, function: { arguments: ':1}' } }]),
      piece([{ index: 1, function: { arguments: '{}' } }]),
      // Some gateways number all of them 0.
      piece([{ index: 0, id: 'c3', function: { name: 'weather', arguments: '{"a":2}' } }], 'stop'),
      'data: [DONE]\n\n',
    ].join('');
    await server.script([{ reply: { raw } }]);
    const call = (id: string, name: string, given: string) => ({
      id,
      type: 'function',
      function: { name, arguments: given },
    });
    expect(await chat({ tools: [TOOL] })).toMatchObject({
      id: 'r',
      created: 5,
      choices: [
        {
          message: {
            tool_calls: [
              call('c1', 'weather', '{"a":1}'),
              call('c2', 'time', '{}'),
              call('c3', 'weather', '{"a":2}'),
            ],
          },
        },
      ],
    });
  });

  it.each([
    ['a tool call without a name', { tool_calls: [{ id: 'c', function: { arguments: '{}' } }] }],
    ['tool calls that are none', { tool_calls: ['weather'] }],
    ['the word of a tool call, but none', { tool_calls: [] }],
  ])('with %s is an error, not half an answer', async (_name, message) => {
    const step = says({ content: null, ...message }, { finishReason: 'tool_calls' });
    await server.script([], step);
    const once = await compose({ AGENT_EVAL_ATTEMPTS: '1' });
    await expect(chat({ tools: [TOOL] }, once)).rejects.toMatchObject({ code: 'provider_error' });
    await once.close();
    await server.script([], {});
  });

  it('has its price', async () => {
    const usage = { prompt_tokens: 1_000_000, completion_tokens: 0 };
    await server.script([says({ content: 'Hi.' }, { usage })]);
    const folder = mkdtempSync(path.join(tmpdir(), 'chat-'));
    const file = path.join(folder, 'prices.json');
    writeFileSync(file, JSON.stringify({ 'gpt-4o-mini': { input: 3, output: 1 } }));
    const priced = await compose({ AGENT_EVAL_PRICES: file });
    expect(await chat({}, priced)).toMatchObject({ costUsd: 3 });
    await priced.close();
    rmSync(folder, { recursive: true });
  });

  it('is tried again where that helps, and parameters are learnt for all', async () => {
    await server.script([
      { status: 503 },
      {
        status: 400,
        reply: { json: { error: { message: "Unsupported parameter: 'temperature'" } } },
      },
      says({ content: 'Hi.' }, { times: 'forever' }),
    ]);
    expect(await chat({ temperature: 1 })).toMatchObject({
      attempts: 3,
      droppedParams: ['temperature'],
    });
    expect(await chat({ temperature: 1 })).toMatchObject({ attempts: 1 });
    expect((await sent()).map((body) => 'temperature' in body)).toEqual([true, true, false, false]);
  });

  it('ends at the socket when its caller leaves', async () => {
    await server.script([says({ content: 'late' }, { delayMs: 30_000 })]);
    const caller = new Canceller();
    const asked = chat({}, engine, caller);
    while ((await server.stats()).calls < 1) await new Promise((next) => setImmediate(next));
    caller.stop();
    await expect(asked).rejects.toMatchObject({ code: 'cancelled' });
  });
});

it.each([
  ['a refused key', { status: 401, reply: { raw: `bad key ${KEY}` } }, 'provider_auth'],
  ['no such model', { status: 404 }, 'model_not_found'],
  ['an answer without a message', { reply: { json: { choices: [] } }, times: 4 }, 'provider_error'],
] as [string, Step, string][])('%s is a typed error without the key', async (_, step, code) => {
  await server.script([step]);
  const impatient = await compose({ AGENT_EVAL_ATTEMPTS: '1' });
  const error = await chat({}, impatient).then(
    () => null,
    (thrown: Error) => thrown,
  );
  expect(error).toMatchObject({ code });
  expect(JSON.stringify(error) + String(error)).not.toContain(KEY);
  await impatient.close();
});

it('needs a hosted model', async () => {
  const asked = chat({ model: 'local/qwen2.5-coder-1.5b' });
  await expect(asked).rejects.toMatchObject({
    code: expect.stringMatching(/validation_error|local_model_missing/),
  });
});

describe('providers with a dialect of their own', () => {
  it.each([
    ['anthropic', '/v1/chat/completions'],
    ['gemini', '/v1beta/openai/chat/completions'],
    ['openai-responses', '/v1/chat/completions'],
    ['xai', '/v1/chat/completions'],
  ])('%s are asked at their chat completions', async (dialect, address) => {
    const all = {
      AGENT_EVAL_LLM_BASE_URL: `${server.origin}${address.slice(0, address.indexOf('/', 1))}`,
      AGENT_EVAL_LLM_API_KEY: KEY,
      AGENT_EVAL_LLM_DIALECT: dialect,
      AGENT_EVAL_LLM_MODEL: 'some-model',
    };
    const own = await composeEngine({ env: all, resolved: resolveSettings(all), oneShot: false });
    await server.script([says({ content: 'Hi.' })]);
    expect(await chat({ max_tokens: 5 }, own)).toMatchObject({ attempts: 1 });
    const [request] = await server.requests();
    expect(request?.path).toBe(address);
    expect(request?.headers).toContainEqual(['authorization', `Bearer ${KEY}`]);
    expect(request?.body).toEqual({ model: 'some-model', messages: HELLO, max_tokens: 5 });
    await own.close();
  });
});
