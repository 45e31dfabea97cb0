import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type ModelServer,
  type Step,
  startModelServer,
} from '../../../../tests/fakes/model-server.js';
import { dispatch } from '../api/dispatch.js';
import { resolveSettings } from '../config/resolve.js';
import { composeEngine, type Engine } from './compose.js';

const RUBRIC = {
  name: 'plain',
  description: 'One scale.',
  systemPrompt: 'You judge.',
  dimensions: [
    {
      id: 'quality',
      description: 'How good it is.',
      min: 0,
      max: 10,
      checks: [{ question: 'Is it good?', expect: 'yes' }],
    },
  ],
};
const FRACTION = {
  ...RUBRIC,
  dimensions: [{ ...RUBRIC.dimensions[0], max: 1 }],
};

let provider: ModelServer;
let engine: Engine;
beforeAll(async () => {
  provider = await startModelServer();
});
afterAll(() => provider.close());
beforeEach(async () => {
  await provider.reset();
  const env = {
    AGENT_EVAL_LLM_BASE_URL: provider.url,
    AGENT_EVAL_LLM_API_KEY: 'sk-test',
    AGENT_EVAL_LLM_MODEL: 'm',
    AGENT_EVAL_ATTEMPTS: '1',
  };
  engine = await composeEngine({ env, resolved: resolveSettings(env), oneShot: false });
});
afterEach(() => engine.close());

type Result = Record<string, unknown> & { warnings: string[]; rationale: string };
const judge = (changes: Record<string, unknown> = {}) =>
  dispatch(
    engine.deps,
    'judge',
    { content: 'A text.', rubric: RUBRIC, scoreMode: 'logprobs', ...changes },
    { allowProvider: true },
  ) as Promise<Result>;

/** A token as it was written, or with the probabilities of what could have stood there. */
type Token = string | [written: string, likely: Record<string, number>];

/** A chat completion that was written with these tokens; `content` and `logprobs` as they would follow from them. */
function written(tokens: Token[], more: { content?: string; logprobs?: null } = {}): Step {
  const places = tokens.map((token) => {
    const [own, likely] = typeof token === 'string' ? [token, { [token]: 1 }] : token;
    const top = Object.entries(likely).map(([name, p]) => ({ token: name, logprob: Math.log(p) }));
    return { token: own, logprob: Math.log(likely[own] ?? 0.01), top_logprobs: top };
  });
  const content = places.map(({ token }) => token).join('');
  const message = { role: 'assistant', content: more.content ?? content };
  const logprobs = more.logprobs === null ? null : { content: places };
  const choice = { index: 0, message, finish_reason: 'stop', logprobs };
  return { reply: { json: { model: 'm-1', choices: [choice] } } };
}

const BEFORE: Token[] = ['{"rationale":"It says ', '2', '","dimensions":{"quality":'];
const AFTER: Token[] = ['}', ',"failureModes":[],"wins":[]}'];
const score = (...tokens: Token[]): Token[] => [...BEFORE, ...tokens, ...AFTER];

describe('scores by log probabilities', () => {
  it('are the mean of the grades that were likely', async () => {
    await provider.script([written(score(['7', { 7: 0.6, 8: 0.3, 6: 0.1 }]))]);
    expect(await judge()).toMatchObject({
      composite: expect.closeTo(0.72, 10),
      dimensions: { quality: expect.closeTo(7.2, 10) },
      scoreMode: 'logprobs',
      replyMode: 'json_schema',
      attempts: 1,
      warnings: [],
    });
    const [request] = await provider.requests();
    expect(request?.body).toMatchObject({ logprobs: true, top_logprobs: 20, temperature: 0 });
  });

  it.each<[string, Token[], number]>([
    [
      'a digit in the rationale',
      [
        '{"rationale":"',
        ['2', { 2: 0.9, 3: 0.1 }],
        '","dimensions":{"quality":',
        ['7', { 7: 0.9 }],
        ...AFTER,
      ],
      7,
    ],
    ['ten in two tokens', score('1', '0'), 10],
    ['a leading space', score([' 7', { ' 7': 0.9, ' 6': 0.05, ' 8': 0.05 }]), 7],
    ['a score in quotes', score('"', ['7', { 7: 0.5, 9: 0.5 }], '"'), 8],
    [
      'prose before and a fence',
      ['Well, 3.\n```json\n', ...score(['7', { 7: 0.5, 9: 0.5 }]), '\n```'],
      8,
    ],
    [
      'reasoning with a decoy',
      ['<think>{"dimensions":{"quality":', '2', '}}</think>', ...score(['7', { 7: 0.5, 9: 0.5 }])],
      8,
    ],
    [
      'spaces and line breaks',
      [
        '{\n  "rationale": "r",\n  "dimensions": {\n    "quality"',
        ':',
        [' 7', { ' 7': 0.5, ' 9': 0.5 }],
        '\n  },\n',
        '  "failureModes": [], "wins": []\n}',
      ],
      8,
    ],
  ])('are read at the right token: %s', async (_name, tokens, quality) => {
    await provider.script([written(tokens)]);
    const result = await judge();
    expect(result).toMatchObject({ scoreMode: 'logprobs' });
    expect(result.dimensions).toEqual({ quality: expect.closeTo(quality, 10) });
  });

  const SEVEN = '{"rationale":"r","dimensions":{"quality":7},"failureModes":[],"wins":[]}';

  it.each<[string, Step, number, string]>([
    ['none were given', written(score('7'), { logprobs: null }), 7, 'gave no log probabilities'],
    [
      'no likely token is a number',
      written(score(['7', { '"': 0.6, seven: 0.4 }])),
      7,
      'are no grades',
    ],
    ['the tokens spell another score', written(score('8'), { content: SEVEN }), 7, "can't be told"],
    ['the tokens spell no JSON', written(['7'], { content: SEVEN }), 7, "can't be told"],
    ['the score is a decimal', written(score('7', '.', '5')), 7.5, 'are no grades'],
  ])('fall back and say so when %s', async (_name, step, quality, why) => {
    await provider.script([step]);
    const result = await judge();
    expect(result).toMatchObject({ dimensions: { quality }, scoreMode: 'text' });
    expect(result.warnings).toEqual([expect.stringMatching(/^logprobs: fell back to the plain/)]);
    expect(result.warnings[0]).toContain(why);
  });

  it('fall back where the endpoint refuses to give any', async () => {
    const no = { error: { message: 'logprobs is not supported by this model', param: 'logprobs' } };
    await provider.script([{ status: 400, reply: { json: no } }], { reply: { content: SEVEN } });
    expect(await judge()).toMatchObject({
      composite: 0.7,
      scoreMode: 'text',
      droppedParams: ['logprobs'],
      attempts: 2,
    });
  });

  it('are grades from 0 to 10 where the scale has no few whole numbers', async () => {
    await provider.script([written(score(['7', { 7: 0.5, 8: 0.5 }]))]);
    expect(await judge({ rubric: FRACTION })).toMatchObject({
      dimensions: { quality: expect.closeTo(0.75, 10) },
      composite: expect.closeTo(0.75, 10),
    });
    await provider.script([written(score('11'))], written(score('12')));
    await expect(judge({ rubric: FRACTION })).rejects.toMatchObject({ code: 'judge_out_of_range' });
  });

  it('have a judgeVersion of their own, also when they fall back', async () => {
    await provider.script([written(score('7'))], written(score('7'), { logprobs: null }));
    const full = await judge();
    const fallen = await judge();
    const plain = await judge({ scoreMode: 'text' });
    expect(fallen.judgeVersion).toBe(full.judgeVersion);
    expect(plain.judgeVersion).not.toBe(full.judgeVersion);
  });

  it('are pooled with others', async () => {
    const at = (top: Record<string, number>) => written(score(['7', top]));
    await provider.script([at({ 7: 1 }), at({ 7: 0.5, 9: 0.5 })]);
    expect(await judge({ samples: 2 })).toMatchObject({
      composite: expect.closeTo(0.75, 10),
      scoreMode: 'logprobs',
    });
  });
});

describe('checks', () => {
  const checks = (changes = {}) => judge({ scoreMode: 'checks', ...changes });
  const answer = (...value: Token[]): Token[] => [
    '{"rationale":"yes and no","answers":{"q1":"',
    ...value,
    '"}}',
  ];

  it('take the probabilities of their answers where the endpoint gives them', async () => {
    await provider.script([written(answer(['yes', { yes: 0.6, no: 0.2, Yes: 0.1 }]))]);
    const result = await checks();
    expect(result).toMatchObject({
      composite: expect.closeTo(7 / 9, 10),
      checks: { quality: [{ p: expect.closeTo(7 / 9, 10) }] },
      scoreMode: 'checks',
      replyMode: 'json_schema',
      warnings: [expect.stringContaining('uncalibrated')],
    });
    const [request] = await provider.requests();
    expect(request?.body).toMatchObject({ logprobs: true });
  });

  it('are certain where it gives none', async () => {
    await provider.script([written(answer('yes'), { logprobs: null })], written(answer('no')));
    expect(await checks()).toMatchObject({ composite: 1, warnings: [] });
  });
});
