import { AgentEvalError, type JudgeResult, parseRubric } from '@tangle-network/agent-eval-contract';
import { describe, expect, it } from 'vitest';
import type { Member } from './member.js';
import { majorityOf, type PoolOptions, pooled } from './pool.js';
import { agreement, deviation, median } from './statistics.js';

const rubric = parseRubric({
  name: 'r',
  description: 'd',
  systemPrompt: 's',
  dimensions: [
    { id: 'a', description: 'd', weight: 3, max: 10 },
    { id: 'b', description: 'd', weight: 1 },
  ],
  failureModes: [
    { id: 'vague', description: 'd' },
    { id: 'rude', description: 'd' },
  ],
  wins: [{ id: 'short', description: 'd' }],
});

function said(a: number, b: number, more: Partial<JudgeResult> = {}, model = 'm'): Member {
  const judgement = {
    composite: (3 * (a / 10) + b) / 4,
    dimensions: { a, b },
    failureModes: [],
    wins: [],
    rationale: `a is ${a}`,
    rubricVersion: 'r@1',
    model: `${model}-2026`,
    usage: { inputTokens: 10, outputTokens: 2, costUsd: 0.5 },
    cached: false,
    attempts: 1,
    judgeVersion: 'of one',
    scoreMode: 'text' as const,
    replyMode: 'json_schema',
    droppedParams: [],
    warnings: [],
    notAssessed: [],
    ...more,
  };
  return { model, judgement };
}

const failed = (code: 'judge_malformed' | 'provider_error', details = {}): Member => ({
  model: 'm',
  error: new AgentEvalError(code, 'No verdict.', details),
});

const pool = (members: Member[], options: Partial<PoolOptions> = {}) => {
  const quorum = majorityOf(members.length);
  return pooled(rubric, members, { pool: 'mean', quorum, judgeVersion: 'of all', ...options });
};

describe('pooled verdicts', () => {
  const three = [said(2, 0), said(8, 1), said(9, 1)];

  it('have the mean of the scores and the words of the verdict nearest to it', () => {
    const result = pool([...three, said(6, 1)]);
    expect(result.dimensions).toEqual({ a: 6.25, b: 0.75 });
    expect(result.composite).toBeCloseTo((3 * 0.625 + 0.75) / 4, 12);
    expect(result.rationale).toBe('a is 6');
    expect(result.judgeVersion).toBe('of all');
  });

  it('have the median on request, from which the composite follows', () => {
    const result = pool([...three, said(10, 0)], { pool: 'median' });
    expect(result.dimensions).toEqual({ a: 8.5, b: 0.5 });
    expect(result.composite).toBeCloseTo((3 * 0.85 + 0.5) / 4, 12);
  });

  it('have the ids that more than half of the verdicts have', () => {
    const result = pool([
      said(1, 1, { failureModes: ['rude', 'vague'], wins: ['short'] }),
      said(1, 1, { failureModes: ['vague'], wins: ['short'] }),
      said(1, 1, { failureModes: ['vague', 'rude'] }),
      said(1, 1),
    ]);
    expect(result.failureModes).toEqual(['vague']);
    expect(result.wins).toEqual([]);
  });

  it('say how far apart they are', () => {
    const result = pool([said(0, 0), said(10, 1), said(10, 1)]);
    expect(result.stdev).toBeCloseTo(Math.sqrt(1 / 3), 12);
    expect(result.agreement).toBeCloseTo(1 / 3, 12);
    expect(pool([said(4, 1)])).toMatchObject({ stdev: null, agreement: null });
  });

  it('add up tokens and cost, and know no cost where one is unknown', () => {
    const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 1 };
    expect(pool(three)).toMatchObject({
      attempts: 3,
      usage: { inputTokens: 30, outputTokens: 6, costUsd: 1.5 },
    });
    expect(pool([...three, said(1, 1, { usage: { ...usage, costUsd: null } })]).usage).toEqual({
      inputTokens: 31,
      outputTokens: 7,
      cachedInputTokens: 1,
      costUsd: null,
    });
    expect(pool([...three, said(1, 1, { usage: null })]).usage).toBeNull();
  });

  it('are cached when all of them are', () => {
    expect(pool([said(1, 1, { cached: true }), said(1, 1)]).cached).toBe(false);
    expect(pool([said(1, 1, { cached: true })]).cached).toBe(true);
  });

  it('name each model, and the model of a warning', () => {
    const result = pool([
      said(1, 1, { warnings: ['odd'] }),
      said(1, 1, { warnings: ['odd'] }),
      said(1, 1, {}, 'n'),
    ]);
    expect(result.model).toBe('m-2026, n-2026');
    expect(result.warnings).toEqual(['m: odd']);
    expect(pool([said(1, 1, { warnings: ['odd'] })]).warnings).toEqual(['odd']);
  });

  it('count as text where one was no expected score', () => {
    const expected = { scoreMode: 'logprobs' as const };
    expect(pool([said(1, 1, expected), said(1, 1, expected)]).scoreMode).toBe('logprobs');
    expect(pool([said(1, 1, expected), said(1, 1)]).scoreMode).toBe('text');
  });

  it('pool the probabilities of checks', () => {
    const answer = (p: number) => ({
      checks: { a: [{ question: 'q', expect: 'yes' as const, p }] },
    });
    const result = pool([said(1, 1, answer(0)), said(1, 1, answer(1)), said(1, 1, answer(1))]);
    expect(result.checks?.a?.[0]?.p).toBeCloseTo(2 / 3, 12);
    expect(pool([said(1, 1)])).not.toHaveProperty('checks');
  });
});

describe('members that failed', () => {
  it('are left out and named, and what they took is counted', () => {
    const usage = { inputTokens: 7, outputTokens: 1 };
    const result = pool([
      said(4, 1),
      said(6, 1),
      failed('judge_malformed', { usage, attempts: 2 }),
    ]);
    expect(result.dimensions.a).toBe(5);
    expect(result.warnings).toEqual(['1 of 3 verdicts are missing: m judge_malformed']);
    expect(result.samples?.[2]).toMatchObject({ model: 'm', error: { code: 'judge_malformed' } });
    expect(result).toMatchObject({ attempts: 4, usage: { inputTokens: 27, costUsd: null } });
  });

  it('whose tokens are unknown make the sum unknown, unless nothing was answered', () => {
    const two = [said(4, 1), said(6, 1)];
    expect(pool([...two, failed('judge_malformed', { attempts: 2 })]).usage).toBeNull();
    expect(pool([...two, failed('provider_error', { attempts: 4 })]).usage?.inputTokens).toBe(20);
  });

  it.each([
    [2, 1, undefined, true],
    [1, 1, undefined, false],
    [2, 2, undefined, false],
    [3, 2, undefined, true],
    [1, 3, 1, true],
    [2, 1, 3, false],
  ])('%i verdicts and %i failures with quorum %s are enough: %s', (good, bad, quorum, enough) => {
    const members = [
      ...Array.from({ length: good }, () => said(4, 1)),
      ...Array.from({ length: bad }, () => failed('judge_malformed')),
    ];
    const options = quorum === undefined ? {} : { quorum };
    if (enough) expect(pool(members, options).composite).toBeCloseTo(0.55, 12);
    else expect(() => pool(members, options)).toThrow(/verdicts were given/);
  });

  it('say in the error who failed why, and what it took', () => {
    const usage = { inputTokens: 7, outputTokens: 1, costUsd: 2 };
    const bad = failed('judge_malformed', { usage, attempts: 2 });
    expect(() => pool([said(4, 1), bad, bad])).toThrow(
      expect.objectContaining({
        code: 'judge_no_quorum',
        message: expect.stringContaining('2 × m judge_malformed'),
        details: expect.objectContaining({
          asked: 3,
          given: 1,
          quorum: 2,
          attempts: 5,
          usage: { inputTokens: 24, outputTokens: 4, costUsd: 4.5 },
        }),
      }),
    );
  });
});

describe('statistics', () => {
  it('know the middle of even and odd lists, whatever their order', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  it('compare every pair', () => {
    const values = [0.9, 0.1, 0.4, 0.4];
    const differences = values.flatMap((a, i) => values.slice(i + 1).map((b) => Math.abs(a - b)));
    const meanDifference = differences.reduce((x, y) => x + y) / differences.length;
    expect(agreement(values)).toBeCloseTo(1 - meanDifference, 12);
    expect(agreement([0.5, 0.5])).toBe(1);
    expect(deviation([0.5, 0.5])).toBe(0);
  });
});
