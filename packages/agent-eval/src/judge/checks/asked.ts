import {
  AgentEvalError,
  type Check,
  type CheckAnswer,
  type Rubric,
} from '@tangle-network/agent-eval-contract';
import { dimensionsWithoutChecks, withBroadQuestions } from './scoring.js';

/** Why checks are answered, and what else a user who lacks them may do. */
export interface NeedOfChecks {
  because: string;
  otherwise: string;
}

/** The rubric with checks for every dimension. */
export function withChecks(
  rubric: Rubric,
  allowUncalibrated: boolean,
  { because, otherwise }: NeedOfChecks,
): Rubric {
  const missing = dimensionsWithoutChecks(rubric);
  if (missing.length === 0) return rubric;
  if (allowUncalibrated) return broadened(rubric);
  throw new AgentEvalError(
    'rubric_needs_checks',
    `${because}, and the rubric "${rubric.name}" has no checks for ${missing.slice(0, 5).join(', ')}: add checks (narrow yes/no questions) to each dimension, ${otherwise}, or accept one broad question for each with --allow-uncalibrated.`,
    { dimensions: missing },
  );
}

const broad = new WeakMap<Rubric, Rubric>();

/** One object for each rubric, so that what is made of it is made once. */
function broadened(rubric: Rubric): Rubric {
  const known = broad.get(rubric);
  if (known !== undefined) return known;
  const made = withBroadQuestions(rubric);
  broad.set(rubric, made);
  return made;
}

/** Warns of scores that come from `withBroadQuestions`. */
export const BROAD_QUESTIONS =
  'uncalibrated: dimensions without checks were scored by one broad question each';

/** Every check with the entry it belongs to, for a judgeVersion. */
export function checksOf(rubric: Rubric): { id: string; checks: Check[] }[] {
  return [...rubric.dimensions, ...rubric.failureModes, ...rubric.wins].map(
    ({ id, checks = [] }) => ({ id, checks }),
  );
}

/** The answers behind each dimension, as part of a rationale. */
export function answersListed(checks: Record<string, CheckAnswer[]>): string {
  return Object.entries(checks)
    .map(([id, answers]) => {
      const lines = answers.map(
        ({ question, expect, p }) => `"${question}" (${expect} expected): p = ${p.toFixed(2)}`,
      );
      return `${id}: ${lines.join('; ')}`;
    })
    .join('\n');
}
