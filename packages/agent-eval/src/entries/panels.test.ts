import { mkdtempSync, rmSync } from 'node:fs';
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
import type { YesNoModel } from '../providers/local/types.js';
import { composeEngine, type Engine } from './compose.js';

const RUBRIC = {
  name: 'plain',
  description: 'One scale.',
  systemPrompt: 'You judge.',
  dimensions: [{ id: 'quality', description: 'How good it is.', min: 0, max: 10 }],
};

let provider: ModelServer;
let folder: string;
let engine: Engine;
beforeAll(async () => {
  provider = await startModelServer();
});
afterAll(() => provider.close());
beforeEach(async () => {
  await provider.reset();
  folder = mkdtempSync(path.join(tmpdir(), 'panels-'));
  engine = await compose();
});
afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

async function compose(env: Record<string, string> = {}): Promise<Engine> {
  const all = {
    AGENT_EVAL_LLM_BASE_URL: provider.url,
    AGENT_EVAL_LLM_API_KEY: 'sk-test',
    AGENT_EVAL_LLM_MODEL: 'm',
    AGENT_EVAL_ATTEMPTS: '1',
    ...env,
  };
  return composeEngine({ env: all, resolved: resolveSettings(all), oneShot: false });
}

type Result = Record<string, unknown> & { samples: Record<string, unknown>[] };
const judge = (changes: Record<string, unknown>, cancel?: Canceller, on = engine) =>
  dispatch(
    on.deps,
    'judge',
    { content: 'A text.', rubric: RUBRIC, ...changes },
    { allowProvider: true, cancel },
  ) as Promise<Result>;

const says = (quality: number, more: Partial<Step> = {}): Step => ({
  reply: {
    verdict: {
      rationale: `It is ${quality}.`,
      dimensions: { quality },
      failureModes: [],
      wins: [],
    },
  },
  ...more,
});
const asked = async () =>
  (await provider.requests()).map(({ body }) => body as Record<string, unknown>);

describe('several samples of one model', () => {
  it('are asked for at 0.7, each with its own seed, and pooled', async () => {
    const usage = { prompt_tokens: 100, completion_tokens: 10 };
    await provider.script([says(2, { usage }), says(6, { usage }), says(10, { usage })]);
    const result = await judge({ samples: 3, seed: 40 });
    expect(result).toMatchObject({
      composite: expect.closeTo(0.6, 12),
      rationale: 'It is 6.',
      stdev: expect.closeTo(0.4, 12),
      agreement: expect.closeTo(1 - 1.6 / 3, 12),
      attempts: 3,
      usage: { inputTokens: 300, outputTokens: 30, costUsd: null },
      cached: false,
      warnings: [],
    });
    expect(result.samples.map(({ composite }) => composite).sort()).toEqual([0.2, 0.6, 1]);
    const bodies = await asked();
    expect(bodies.map(({ seed }) => seed).sort()).toEqual([40, 41, 42]);
    expect(new Set(bodies.map(({ temperature }) => temperature))).toEqual(new Set([0.7]));
  });

  it('are asked for at once', async () => {
    await provider.script([says(5, { times: 'forever', together: 8 })]);
    expect(await judge({ samples: 8 })).toMatchObject({ agreement: 1 });
  });

  it('have the temperature that is asked for', async () => {
    await provider.script([], says(5));
    await judge({ samples: 2, temperature: 0.1 });
    expect((await asked()).map(({ temperature }) => temperature)).toEqual([0.1, 0.1]);
  });

  it('of which there is one, are a plain judgement with its sample', async () => {
    await provider.script([], says(5));
    const plain = await judge({});
    const { samples, stdev, agreement, ...one } = await judge({ samples: 1 });
    expect(samples).toHaveLength(1);
    expect([stdev, agreement]).toEqual([null, null]);
    expect({ ...one, durationMs: 0 }).toEqual({ ...plain, durationMs: 0 });
    expect((await asked()).map(({ temperature }) => temperature)).toEqual([0, 0]);
  });

  it('tell their judgeVersion by what was asked', async () => {
    await provider.script([], says(5));
    const of = async (options: object) => (await judge({ samples: 3, ...options })).judgeVersion;
    const version = await of({});
    expect(await of({})).toBe(version);
    expect(await of({ pool: 'mean', temperature: 0.7 })).toBe(version);
    const others = [{ samples: 4 }, { pool: 'median' }, { temperature: 1 }, { seed: 1 }];
    const versions = await Promise.all(others.map(of));
    expect(new Set([version, ...versions]).size).toBe(5);
  });

  it('are remembered one by one', async () => {
    const remembers = await compose({ AGENT_EVAL_CACHE: path.join(folder, 'verdicts.db') });
    await provider.script([says(2), says(8)], says(5));
    const first = await judge({ samples: 2 }, undefined, remembers);
    const again = await judge({ samples: 2 }, undefined, remembers);
    expect(again).toMatchObject({ composite: first.composite, cached: true, attempts: 0 });
    expect(again.usage).toEqual({ inputTokens: 0, outputTokens: 0, costUsd: 0 });
    const more = await judge({ samples: 3 }, undefined, remembers);
    await remembers.close();
    expect(more.samples.map(({ cached }) => cached)).toEqual([true, true, false]);
    expect((await provider.stats()).calls).toBe(3);
  });
});

describe('a panel of models', () => {
  const of = (model: string, step: Step): Step => ({ ...step, match: { model }, times: 'forever' });

  it('asks each as often as it says', async () => {
    await provider.script([of('a', says(2)), of('b', says(6))]);
    const result = await judge({ models: ['a', 'b'], samples: 2 });
    expect(result.samples.map(({ composite }) => composite)).toEqual([0.2, 0.2, 0.6, 0.6]);
    expect(result).toMatchObject({ composite: expect.closeTo(0.4, 12), attempts: 4 });
  });

  it('leaves out and names a member that fails', async () => {
    const broken = { status: 401, reply: { json: { error: { message: 'no' } } } };
    await provider.script([of('a', says(2)), of('b', says(6)), of('c', broken)]);
    const result = await judge({ models: ['a', 'c', 'b'] });
    expect(result.composite).toBeCloseTo(0.4, 12);
    expect(result.warnings).toEqual(['1 of 3 verdicts are missing: c provider_auth']);
    expect(result.samples[1]).toMatchObject({ model: 'c', error: { code: 'provider_auth' } });
    expect(result.samples[1]).not.toHaveProperty('composite');
  });

  it('is unscored with too few verdicts', async () => {
    // Late enough for the other to be done: what is under way when it fails is called off.
    const poor = { reply: { content: 'Fine.' }, delayMs: 500 };
    await provider.script([of('a', says(2)), of('b', poor)]);
    await expect(judge({ models: ['a', 'b'] })).rejects.toMatchObject({
      code: 'judge_no_quorum',
      details: { asked: 2, given: 1, quorum: 2, attempts: 3 },
    });
    expect(await judge({ models: ['a', 'b'], quorum: 1 })).toMatchObject({ composite: 0.2 });
  });

  it('does without a model that can not be asked, but not without all of them', async () => {
    await provider.script([], says(5));
    const missing = await judge({ models: ['a', 'b', 'local/none'] });
    expect(missing.samples[2]).toMatchObject({
      model: 'local/none',
      error: { code: 'local_model_missing' },
    });
    await expect(judge({ models: ['local/none'] })).rejects.toMatchObject({
      code: 'local_model_missing',
    });
  });

  it('makes do with those that answer before the deadline', async () => {
    await provider.script([
      of('a', says(2)),
      of('b', says(6)),
      of('c', says(10, { delayMs: 20_000 })),
    ]);
    const models = ['a', 'b', 'c'];
    expect(await judge({ models, timeoutMs: 1500 })).toMatchObject({
      composite: expect.closeTo(0.4, 12),
      warnings: ['1 of 3 verdicts are missing: c timeout'],
    });
    await expect(judge({ models, quorum: 3, timeoutMs: 300 })).rejects.toMatchObject({
      code: 'timeout',
    });
  });

  it('asks no longer once its quorum is out of reach', async () => {
    const broken = { status: 401, reply: { json: { error: { message: 'no' } } } };
    const slow = says(2, { delayMs: 20_000 });
    await provider.script([of('a', broken), of('b', slow), of('c', slow)]);
    await expect(judge({ models: ['a', 'b', 'c'], quorum: 3 })).rejects.toMatchObject({
      code: 'judge_no_quorum',
      message: expect.stringContaining('a provider_auth, b cancelled, c cancelled'),
      details: { given: 0, quorum: 3 },
    });
    await expect
      .poll(async () => (await provider.requests()).map(({ outcome }) => outcome).sort())
      .toEqual(['answered', 'client-gone', 'client-gone']);
  });

  it('asks nobody when too many of its models can not be asked', async () => {
    const models = ['a', 'local/none', 'local/neither'];
    await expect(judge({ models, samples: 2 })).rejects.toMatchObject({
      code: 'judge_no_quorum',
      details: { asked: 6, given: 0, quorum: 4, attempts: 0 },
    });
    expect((await provider.stats()).calls).toBe(0);
  });

  it('ends at every socket when its caller leaves', async () => {
    await provider.script([says(2, { times: 'forever', delayMs: 20_000 })]);
    const canceller = new Canceller();
    const result = judge({ models: ['a', 'b'], samples: 2 }, canceller);
    await expect.poll(async () => (await provider.requests()).length).toBe(4);
    canceller.stop();
    await expect(result).rejects.toMatchObject({ code: 'cancelled' });
    await expect
      .poll(async () => (await provider.requests()).map(({ outcome }) => outcome))
      .toEqual(Array(4).fill('client-gone'));
  });
});

it.each([
  ['model and models', { model: 'a', models: ['b'] }, 'models'],
  ['a model named twice', { models: ['a', 'b', 'a'] }, 'models.2'],
  ['no models', { models: [] }, 'models'],
  ['a quorum that can not be met', { models: ['a', 'b'], samples: 2, quorum: 5 }, 'quorum'],
  ['too many samples', { samples: 65 }, 'samples'],
])('%s are refused', async (_name, changes, at) => {
  await expect(judge(changes)).rejects.toMatchObject({
    code: 'validation_error',
    details: { issues: [{ path: at }] },
  });
});

describe('a local model in a panel', () => {
  const checked = {
    ...RUBRIC,
    dimensions: [
      { ...RUBRIC.dimensions[0], checks: [{ question: 'Is it good?', expect: 'yes', weight: 1 }] },
    ],
  };

  /** Puts a model that answers with one probability behind the names that begin with `local/`. */
  function withLocal(yes: number): { engine: Engine; calls: () => number } {
    let calls = 0;
    const model: YesNoModel = {
      name: 'small',
      describe: async () => ({ fileSha256: 'abc', contextSize: 2048 }),
      answer: async ({ questions }) => {
        calls += 1;
        return {
          answers: questions.map(() => ({ yes, no: 1 - yes })),
          inputTokens: 9,
          outputTokens: 0,
        };
      },
      close: async () => {},
    };
    const resolveModel: Engine['deps']['resolveModel'] = async (choice) =>
      choice.model?.startsWith('local/') === true
        ? { kind: 'checks', model }
        : engine.deps.resolveModel(choice);
    return { engine: { ...engine, deps: { ...engine.deps, resolveModel } }, calls: () => calls };
  }

  it('is asked once, since it answers the same each time', async () => {
    const { engine: local, calls } = withLocal(0.75);
    const result = await judge(
      { rubric: checked, model: 'local/small', samples: 3 },
      undefined,
      local,
    );
    expect(result).toMatchObject({
      composite: expect.closeTo(0.75, 12),
      stdev: 0,
      attempts: 1,
      usage: { inputTokens: 9 },
      cached: false,
      warnings: expect.arrayContaining([expect.stringContaining('asked once for 3 samples')]),
    });
    expect(result.samples.map(({ cached }) => cached)).toEqual([false, true, true]);
    expect(calls()).toBe(1);
  });

  it('judges with hosted ones by checks, and only by those', async () => {
    const { engine: local } = withLocal(0.5);
    const request = { rubric: checked, models: ['a', 'local/small'] };
    await provider.script([], { reply: { content: '{"rationale":"r","answers":{"q1":"yes"}}' } });
    await expect(judge(request, undefined, local)).rejects.toMatchObject({
      code: 'validation_error',
      message: expect.stringContaining('scoreMode "checks"'),
    });
    const result = await judge({ ...request, scoreMode: 'checks' }, undefined, local);
    expect(result).toMatchObject({
      composite: expect.closeTo(0.75, 12),
      scoreMode: 'checks',
      checks: { quality: [{ p: expect.closeTo(0.75, 12) }] },
    });
    await expect(
      judge({ ...request, scoreMode: 'logprobs' }, undefined, local),
    ).rejects.toMatchObject({ code: 'validation_error' });
  });

  it('without checks makes the whole request wrong', async () => {
    const { engine: local } = withLocal(0.5);
    await expect(
      judge({ models: ['a', 'local/small'], scoreMode: 'checks' }, undefined, local),
    ).rejects.toMatchObject({ code: 'rubric_needs_checks' });
  });
});
