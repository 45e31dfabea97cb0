import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ModelServer, startModelServer } from '../../../../tests/fakes/model-server.js';
import { dispatch } from '../api/dispatch.js';
import { resolveSettings } from '../config/resolve.js';
import { Canceller } from '../core/cancel.js';
import { composeEngine, type Engine } from './compose.js';

const KEY = 'sk-canary-key-0123456789';
const RUBRIC = {
  name: 'plain',
  description: 'One scale.',
  systemPrompt: 'You judge.',
  dimensions: [{ id: 'quality', description: 'How good it is.', min: 0, max: 10 }],
};
const JUDGE = { content: 'A text.', rubric: RUBRIC };

let provider: ModelServer;
let folder: string;
let engine: Engine;
beforeAll(async () => {
  provider = await startModelServer();
});
afterAll(() => provider.close());
beforeEach(async () => {
  await provider.reset();
  folder = mkdtempSync(path.join(tmpdir(), 'cache-'));
  engine = await compose();
});
afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

async function compose(env: Record<string, string> = {}): Promise<Engine> {
  const all = {
    AGENT_EVAL_LLM_BASE_URL: provider.url,
    AGENT_EVAL_LLM_API_KEY: KEY,
    AGENT_EVAL_LLM_MODEL: 'm',
    AGENT_EVAL_CACHE: path.join(folder, 'verdicts.db'),
    ...env,
  };
  return composeEngine({ env: all, resolved: resolveSettings(all), oneShot: false });
}

type Result = Record<string, unknown>;
const judge = (changes: Record<string, unknown> = {}, cancel?: Canceller, on = engine) =>
  dispatch(
    on.deps,
    'judge',
    { ...JUDGE, ...changes },
    { allowProvider: true, cancel },
  ) as Promise<Result>;
const verdict = (quality: number) => ({
  rationale: 'Because.',
  dimensions: { quality },
  failureModes: [],
  wins: [],
});
const calls = async () => (await provider.stats()).calls;

describe('a remembered verdict', () => {
  it('has the fields of the first one, and costs nothing', async () => {
    await provider.script([], { reply: { verdict: verdict(7) } });
    const first = await judge();
    const second = await judge();
    expect(await calls()).toBe(1);
    expect(first).toMatchObject({ cached: false, composite: 0.7, attempts: 1 });
    expect(second).toEqual({
      ...first,
      cached: true,
      attempts: 0,
      durationMs: second.durationMs,
      usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
    });
    expect(Object.keys(second).sort()).toEqual(Object.keys(first).sort());
  });

  it('is there for the next engine, also for one with another key', async () => {
    await provider.script([], { reply: { verdict: verdict(7) } });
    await judge();
    const other = await compose({ AGENT_EVAL_LLM_API_KEY: 'sk-another-key-0123456789' });
    expect(await judge({}, undefined, other)).toMatchObject({ cached: true, composite: 0.7 });
    await other.close();
    expect(await calls()).toBe(1);
  });

  it('gives the raw reply to those alone who ask', async () => {
    await provider.script([], { reply: { verdict: verdict(7) } });
    expect(await judge()).not.toHaveProperty('raw');
    const raw = await judge({ includeRaw: true });
    expect(raw.cached).toBe(true);
    expect(JSON.parse(String(raw.raw))).toEqual(verdict(7));
    expect(await judge()).not.toHaveProperty('raw');
  });

  it.each([
    ['content', { content: 'Another text.' }],
    ['context', { context: { question: 'Why?' } }],
    ['model', { model: 'other' }],
    ['temperature', { temperature: 0.5 }],
    ['seed', { seed: 1 }],
    ['maxTokens', { maxTokens: 500 }],
    ['rubric name', { rubric: { ...RUBRIC, name: 'other' } }],
    ['system prompt', { rubric: { ...RUBRIC, systemPrompt: 'You judge hard.' } }],
    ['scale', { rubric: { ...RUBRIC, dimensions: [{ ...RUBRIC.dimensions[0], max: 20 }] } }],
    ['weight', { rubric: { ...RUBRIC, dimensions: [{ ...RUBRIC.dimensions[0], weight: 2 }] } }],
  ])('does not serve another %s', async (_name, changes) => {
    await provider.script([], { reply: { verdict: verdict(7) } });
    await judge();
    expect((await judge(changes)).cached).toBe(false);
    expect((await judge(changes)).cached).toBe(true);
    expect(await calls()).toBe(2);
  });

  it('serves whatever the deadline, and a spelt out default', async () => {
    await provider.script([], { reply: { verdict: verdict(7) } });
    await judge();
    expect((await judge({ timeoutMs: 5000, temperature: 0, cache: 'use' })).cached).toBe(true);
  });

  it('belongs to its endpoint', async () => {
    await provider.script([], { reply: { verdict: verdict(7) } });
    await judge();
    const base = { name: 'openai', apiKey: 'k' };
    const elsewhere = { ...base, baseUrl: `${provider.origin}/other/v1` };
    const withUser = { ...base, baseUrl: provider.url.replace('//', '//user:password@') };
    expect((await judge({ provider: elsewhere })).cached).toBe(false);
    expect((await judge({ provider: withUser })).cached).toBe(true);
  });
});

describe('what is not remembered', () => {
  it.each([
    ['a refusal', { reply: { message: { role: 'assistant', refusal: 'No.' } } }],
    ['a truncated reply', { reply: { content: '{"rationale": "Bec' }, finishReason: 'length' }],
    ['a malformed reply', { reply: { content: 'I like it.' } }],
    ['a score out of range', { reply: { verdict: verdict(98_989) } }],
    ['a refused key', { status: 401, reply: { json: { error: { message: 'no' } } } }],
  ])('%s', async (_name, step) => {
    await provider.script([{ ...step, times: 'forever' }]);
    await expect(judge()).rejects.toThrow();
    await provider.script([], { reply: { verdict: verdict(7) } });
    expect(await judge()).toMatchObject({ cached: false, composite: 0.7 });
  });

  it('anything when it is bypassed, and the old verdict after a refresh', async () => {
    await provider.script([], { reply: { verdict: verdict(1) } });
    await judge({ cache: 'bypass' });
    await provider.script([], { reply: { verdict: verdict(2) } });
    expect(await judge()).toMatchObject({ cached: false, composite: 0.2 });
    await provider.script([], { reply: { verdict: verdict(3) } });
    expect(await judge({ cache: 'bypass' })).toMatchObject({ cached: false, composite: 0.3 });
    expect(await judge()).toMatchObject({ cached: true, composite: 0.2 });
    expect(await judge({ cache: 'refresh' })).toMatchObject({ cached: false, composite: 0.3 });
    expect(await judge()).toMatchObject({ cached: true, composite: 0.3 });
  });
});

describe('the same question at the same time', () => {
  it('is asked once, and paid once', async () => {
    await provider.script([], { reply: { verdict: verdict(7) }, delayMs: 50 });
    const results = await Promise.all(Array.from({ length: 64 }, () => judge()));
    expect(await calls()).toBe(1);
    expect(results.filter(({ cached }) => cached === false)).toHaveLength(1);
    expect(new Set(results.map(({ composite }) => composite))).toEqual(new Set([0.7]));
  });

  it('goes on when one caller cancels, and ends at the socket when all do', async () => {
    await provider.script([], { reply: { verdict: verdict(7) }, delayMs: 200 });
    const one = new Canceller();
    const cancelled = judge({}, one);
    const stays = judge();
    setImmediate(() => one.stop());
    await expect(cancelled).rejects.toMatchObject({ code: 'cancelled' });
    expect(await stays).toMatchObject({ cached: false, composite: 0.7 });
    await expect(judge({ content: 'Slow.', timeoutMs: 50 })).rejects.toMatchObject({
      code: 'timeout',
    });
    await expect
      .poll(async () => (await provider.requests()).map(({ outcome }) => outcome))
      .toEqual(['answered', 'client-gone']);
  });
});

it('holds no key, in any spelling', async () => {
  await provider.script([], { reply: { content: JSON.stringify(verdict(7)) + KEY } });
  await judge().catch(() => {});
  await provider.script([], {
    reply: { verdict: { ...verdict(7), rationale: `Your key is ${KEY}` } },
  });
  await judge({ content: 'Echo.' });
  await engine.close();
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(path.join(folder, name));
    expect(bytes.includes(KEY)).toBe(false);
    expect(bytes.includes(Buffer.from(KEY).toString('base64'))).toBe(false);
  }
});

it('without a cache nothing is shared', async () => {
  const plain = await compose({ AGENT_EVAL_CACHE: '' });
  await provider.script([], { reply: { verdict: verdict(7) } });
  const results = await Promise.all([1, 2, 3].map(() => judge({ cache: 'use' }, undefined, plain)));
  await plain.close();
  expect(results.map(({ cached }) => cached)).toEqual([false, false, false]);
  expect(await calls()).toBe(3);
  expect(readdirSync(folder)).toEqual([]);
});
