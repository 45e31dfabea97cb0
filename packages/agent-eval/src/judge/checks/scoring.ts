import type { Check, CheckAnswer, Rubric } from '@tangle-network/agent-eval-contract';
import type { Calibration } from '../../rubrics/entry.js';
import type { Scores } from '../score.js';

/** Probability mass a model put on "yes" and on "no" as its next word. */
export interface YesNo {
  yes: number;
  no: number;
}

export interface CheckedVerdict {
  scores: Scores;
  checks: Record<string, CheckAnswer[]>;
  failureModes: string[];
  wins: string[];
  notAssessed: ('failureModes' | 'wins')[];
  /** Questions scored without stored calibration. */
  uncalibrated: string[];
}

/** Every distinct question of a rubric, in order of first use: each is asked once. */
export function questionsOf(rubric: Rubric): string[] {
  const entries = [...rubric.dimensions, ...rubric.failureModes, ...rubric.wins];
  return [...new Set(entries.flatMap(({ checks }) => (checks ?? []).map((c) => c.question)))];
}

/** Dimensions that have no check to answer for them. */
export function dimensionsWithoutChecks(rubric: Rubric): string[] {
  return rubric.dimensions.filter(({ checks }) => checks === undefined).map(({ id }) => id);
}

/** The rubric with one broad question for each dimension that has no checks. */
export function withBroadQuestions(rubric: Rubric): Rubric {
  const dimensions = rubric.dimensions.map((dimension) => ({
    ...dimension,
    checks: dimension.checks ?? [
      {
        question: `Does this hold for the text: ${dimension.description}`,
        expect: 'yes' as const,
        weight: 1,
      },
    ],
  }));
  return { ...rubric, dimensions };
}

/** Turns the answers to a rubric's questions into scores. Every dimension must have checks. */
export function scoreChecks(
  rubric: Rubric,
  answers: ReadonlyMap<string, YesNo>,
  calibration: readonly Calibration[],
): CheckedVerdict {
  const uncalibrated = new Set<string>();
  const answered = (check: Check): CheckAnswer => {
    const answer = answers.get(check.question);
    if (answer === undefined) throw new RangeError(`No answer to "${check.question}"`);
    const constants = calibration.find(
      (row) => row.question === check.question && row.expect === check.expect,
    );
    if (constants === undefined) uncalibrated.add(check.question);
    const p = probability(answer, check.expect, constants);
    return { question: check.question, expect: check.expect, p };
  };
  const scores: [string, number][] = [];
  const checks: [string, CheckAnswer[]][] = [];
  for (const { id, min, max, checks: own = [] } of rubric.dimensions) {
    const list = own.map(answered);
    checks.push([id, list]);
    scores.push([id, min + weightedMean(own, list) * (max - min)]);
  }
  const found = (entries: Rubric['failureModes']): string[] =>
    entries
      .filter(({ checks: own }) => own !== undefined && weightedMean(own, own.map(answered)) >= 0.5)
      .map(({ id }) => id);
  return {
    scores: Object.fromEntries(scores),
    checks: Object.fromEntries(checks),
    failureModes: found(rubric.failureModes),
    wins: found(rubric.wins),
    notAssessed: (['failureModes', 'wins'] as const).filter((list) =>
      rubric[list].some((entry) => entry.checks === undefined),
    ),
    uncalibrated: [...uncalibrated],
  };
}

/** Smallest probability mass; keeps the log-odds finite. */
const MIN_MASS = 1e-12;

function probability(
  answer: YesNo,
  expect: Check['expect'],
  constants: Calibration | undefined,
): number {
  const [wanted, other] = expect === 'yes' ? [answer.yes, answer.no] : [answer.no, answer.yes];
  if (constants === undefined) return wanted / (wanted + other);
  const logOdds = Math.log(Math.max(wanted, MIN_MASS) / Math.max(other, MIN_MASS));
  return sigmoid((2 * (logOdds - constants.midpoint)) / constants.halfGap);
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

function weightedMean(checks: readonly Check[], answers: readonly CheckAnswer[]): number {
  let sum = 0;
  let total = 0;
  for (const [i, check] of checks.entries()) {
    sum += check.weight * (answers[i]?.p ?? 0);
    total += check.weight;
  }
  return sum / total;
}
