import { parseRubric } from '@tangle-network/agent-eval-contract';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../core/clock.js';
import { startDeadline } from '../../core/deadline.js';
import type { YesNoModel } from '../../providers/local/types.js';
import { judgeByChecks } from './judge-locally.js';
import { questionsOf, scoreChecks } from './scoring.js';

const rubric = parseRubric({
  name: 'r',
  description: 'd',
  systemPrompt: 's',
  dimensions: [
    {
      id: 'voice',
      description: 'plain',
      min: 0,
      max: 10,
      checks: [
        { question: 'Is it an advertisement?', expect: 'no', weight: 3 },
        { question: 'Is it plain?', expect: 'yes' },
      ],
    },
  ],
  failureModes: [
    {
      id: 'ad',
      description: 'advert',
      checks: [{ question: 'Is it an advertisement?', expect: 'yes' }],
    },
    { id: 'unseen', description: 'not checked' },
  ],
});

const answers = new Map([
  ['Is it an advertisement?', { yes: 0.2, no: 0.8 }],
  ['Is it plain?', { yes: 0.5, no: 0.5 }],
]);

describe('scoring by checks', () => {
  it('asks each distinct question once', () => {
    expect(questionsOf(rubric)).toEqual(['Is it an advertisement?', 'Is it plain?']);
  });

  it('scores without calibration by the plain probability, and says so', () => {
    const verdict = scoreChecks(rubric, answers, []);
    expect(verdict.scores.voice).toBeCloseTo(10 * (3 * 0.8 + 0.5) * 0.25, 10);
    expect(verdict.checks.voice?.[0]).toMatchObject({ expect: 'no', p: expect.closeTo(0.8, 10) });
    expect(verdict.failureModes).toEqual([]);
    expect(verdict.notAssessed).toEqual(['failureModes']);
    expect(verdict.uncalibrated).toHaveLength(2);
  });

  it('puts a calibrated answer on its own middle', () => {
    const logOdds = Math.log(0.8 / 0.2);
    const row = { model: 'm', question: 'Is it an advertisement?', expect: 'no' as const };
    const at = (midpoint: number) =>
      scoreChecks(rubric, answers, [{ ...row, midpoint, halfGap: 0.5 }]).checks.voice?.[0]?.p;
    expect(at(logOdds)).toBeCloseTo(0.5, 10);
    expect(at(logOdds - 0.5)).toBeCloseTo(1 / (1 + Math.exp(-2)), 10);
    expect(at(logOdds + 0.5)).toBeCloseTo(1 / (1 + Math.exp(2)), 10);
  });

  it('stays finite when a model is certain', () => {
    const certain = new Map([...answers.keys()].map((question) => [question, { yes: 0, no: 1 }]));
    expect(scoreChecks(rubric, certain, []).scores.voice).toBeCloseTo(7.5, 6);
  });
});

const model = (mass: number): YesNoModel => ({
  name: 'test-model',
  describe: async () => ({ fileSha256: 'abc', contextSize: 2048 }),
  answer: async ({ questions }) => ({
    answers: questions.map(() => ({ yes: mass * 0.75, no: mass * 0.25 })),
    inputTokens: 10,
    outputTokens: 0,
  }),
  close: async () => {},
});

describe('judging by checks', () => {
  const deadline = startDeadline(systemClock, 1000);
  const settings = { calibration: [], allowUncalibrated: false };
  const bare = parseRubric({
    name: 'bare',
    description: 'd',
    systemPrompt: 's',
    dimensions: [{ id: 'quality', description: 'good' }],
  });

  it('names the model with its hash and warns', async () => {
    const verdict = await judgeByChecks(rubric, { content: 'x' }, model(1), settings, deadline);
    expect(verdict.model).toBe('local/test-model@sha256:abc');
    expect(verdict.warnings.join()).toMatch(/small-model.*uncalibrated/s);
    expect(verdict.rationale).toContain('Is it plain?');
  });

  it('refuses a rubric without checks, and says how to go on', async () => {
    const judging = judgeByChecks(bare, { content: 'x' }, model(1), settings, deadline);
    await expect(judging).rejects.toMatchObject({ code: 'rubric_needs_checks' });
  });

  it('asks a broad question instead when that was allowed', async () => {
    const allowed = { ...settings, allowUncalibrated: true };
    const verdict = await judgeByChecks(bare, { content: 'x' }, model(1), allowed, deadline);
    expect(verdict.dimensions.quality).toBeCloseTo(0.75, 10);
    expect(verdict.warnings.join()).toContain('uncalibrated');
  });

  it('is unscored when the model does not answer yes or no', async () => {
    const judging = judgeByChecks(rubric, { content: 'x' }, model(0.2), settings, deadline);
    await expect(judging).rejects.toMatchObject({ code: 'judge_malformed' });
  });
});
