import type { Rubric } from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../../core/deadline.js';
import type { ModelClient, ModelReply } from '../../providers/types.js';
import { askForVerdict } from '../ask.js';
import { type Judgement, type JudgeOptions, judgementOf, modelRequest } from '../judge.js';
import { judgeVersion, samplingOf } from '../judge-version.js';
import { PROMPT_VERSION } from '../prompt.js';
import type { Scores } from '../score.js';
import { expectedNumber } from './expected.js';
import { fromGrade, graded, gradesOf } from './grades.js';
import { placedValues } from './token-text.js';

/** Part of every judgeVersion in this mode, beside that of the prompt it changes. */
const GRADES_VERSION = 'grades-1';

/** As many as endpoints give. */
const TOP_TOKENS = 20;

/** Judges by asking for whole grades and taking the mean of those that the model was likely to give. */
export async function judgeByLogprobs(
  rubric: Rubric,
  options: JudgeOptions,
  { client, model }: { client: ModelClient; model: string },
  deadline: Deadline,
): Promise<Judgement> {
  const prompt = graded(rubric);
  const asked = prompt.rubric;
  const request = modelRequest(options, model, prompt, TOP_TOKENS);
  const { verdict, reply } = await askForVerdict(asked, request, client, deadline);
  const expected = expectedGrades(asked, verdict.scores, reply);
  const fell = typeof expected === 'string';
  const grades = fell ? verdict.scores : expected;
  const scores = Object.fromEntries(
    rubric.dimensions.map((one) => [one.id, fromGrade(one, grades[one.id] ?? Number.NaN)]),
  );
  const warnings = fell ? [`logprobs: fell back to the plain scores, as ${expected}`] : [];
  const read = { ...verdict, scores, warnings: [...verdict.warnings, ...warnings] };
  const mode = fell ? 'text' : 'logprobs';
  const version = logprobsJudgeVersion(options);
  return judgementOf(rubric, options, { verdict: read, reply }, mode, version);
}

/** The judgeVersion of this mode; known before the call, so also where it falls back. */
export function logprobsJudgeVersion(options: JudgeOptions): string {
  return judgeVersion({
    scoreMode: 'logprobs',
    promptVersion: `${PROMPT_VERSION} ${GRADES_VERSION}`,
    sampling: samplingOf(options),
    checks: null,
  });
}

/**
 * The expected grade of every dimension, or why there is none. One that can't be read makes all of them
 * plain: expected and plain scores in one verdict would not compare with either.
 */
function expectedGrades(asked: Rubric, written: Scores, { logprobs }: ModelReply): Scores | string {
  if (logprobs === null || logprobs.length === 0) return 'the endpoint gave no log probabilities';
  const placed = placedValues(logprobs, 'dimensions');
  const grades: [string, number][] = [];
  for (const dimension of asked.dimensions) {
    const { id } = dimension;
    const value = placed.get(id);
    if (value === undefined || value.text === '' || Number(value.text) !== written[id]) {
      return `the tokens of the score for ${id} can't be told`;
    }
    const expected = expectedNumber(logprobs, value.token, gradesOf(dimension));
    if (expected === null) return `the likeliest tokens of the score for ${id} are no grades`;
    grades.push([id, expected]);
  }
  return Object.fromEntries(grades);
}
