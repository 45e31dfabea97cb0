import type { Rubric } from '@tangle-network/agent-eval-contract';

/** Slack when a score is compared with the ends of its scale or with a gate. */
export const SCORE_SLACK = 1e-9;

export type Scores = Readonly<Record<string, number>>;

/** Σ weight·(score−min)/(max−min) / Σ weight, kept within 0 and 1 against rounding. */
export function composite(rubric: Rubric, scores: Scores): number {
  let sum = 0;
  let total = 0;
  for (const { id, weight, min, max } of rubric.dimensions) {
    const score = scores[id];
    if (score === undefined) throw new RangeError(`No score for the dimension "${id}"`);
    sum += weight * ((score - min) / (max - min));
    total += weight;
  }
  return Math.min(1, Math.max(0, sum / total));
}

/** Whether a composite passes a gate; the same comparison in every language. */
export function passesGate(value: number, gate: number): boolean {
  return value >= gate - SCORE_SLACK;
}
