import type { CompareResult, Preference } from '@tangle-network/agent-eval-contract';
import type { Judgement } from '../judge.js';
import { SCORE_SLACK } from '../score.js';
import { spent } from '../spent.js';

/** Composites that are no further apart do not tell two texts apart. */
const TIE_WITHIN = 0.02;

/** Compares two texts by the verdicts on each of them alone. No order is involved, so none can decide. */
export function byScores(
  a: Judgement,
  b: Judgement,
  samples: number,
): Omit<CompareResult, 'durationMs' | 'lengths'> {
  return {
    winner: winnerOf(a.composite, b.composite),
    scores: { a: a.composite, b: b.composite },
    flipped: false,
    consistency: null,
    order: [],
    n: samples,
    rationale: `a, ${a.composite.toFixed(2)}: ${a.rationale}\n\nb, ${b.composite.toFixed(2)}: ${b.rationale}`,
    rubricVersion: a.rubricVersion,
    judgeVersion: a.judgeVersion,
    model: a.model,
    usage: spent([a, b]).usage,
    warnings: [...new Set([...a.warnings, ...b.warnings])],
  };
}

function winnerOf(a: number, b: number): Preference {
  if (Math.abs(a - b) <= TIE_WITHIN + SCORE_SLACK) return 'tie';
  return a > b ? 'a' : 'b';
}
