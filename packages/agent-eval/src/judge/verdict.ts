import type { ErrorCode } from '@tangle-network/agent-eval-contract';
import type { Scores } from './score.js';

/** What a model said about a text, read and checked against the rubric. */
export interface Verdict {
  scores: Scores;
  failureModes: string[];
  wins: string[];
  rationale: string;
  warnings: string[];
}

/** Why a reply gave no verdict. */
export interface Unusable {
  code: Extract<ErrorCode, `judge_${string}`>;
  message: string;
  details: Record<string, unknown>;
}

export interface Unscored {
  scored: false;
  why: Unusable;
}

/** A judgement has one of two outcomes; a failure of the judge is never a score. */
export type Outcome<T = Verdict> = { scored: true; verdict: T } | Unscored;

export function unscored(
  code: Unusable['code'],
  message: string,
  details: Record<string, unknown> = {},
): Unscored {
  return { scored: false, why: { code, message, details } };
}
