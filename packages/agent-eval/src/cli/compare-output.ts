import type { CompareResult } from '@tangle-network/agent-eval-contract';
import { formatScore, tokensSpent } from './judge-output.js';
import { type Output, printable, table } from './output.js';

/** A comparison for people. */
export function comparisonLines(result: CompareResult, output: Output): string[] {
  const rubric = result.rubricVersion.slice(0, result.rubricVersion.lastIndexOf('@'));
  return [
    output.strong(printable(`${rubric}: ${said(result)}`)),
    ...table([
      ['  a', `${result.lengths.a} characters`, ...score(result.scores?.a)],
      ['  b', `${result.lengths.b} characters`, ...score(result.scores?.b)],
    ]).map(printable),
    ...orders(result),
    ...(result.rationale === '' ? [] : ['', printable(result.rationale)]),
    '',
    output.dim(printable(facts(result))),
    ...result.warnings.map((warning) => output.dim(printable(`warning: ${warning}`))),
  ];
}

function said({ winner, flipped }: CompareResult): string {
  if (winner === null) return 'no winner: an order of the texts gave no answer';
  if (winner !== 'tie') return `${winner} is better`;
  return flipped ? 'a tie: the preference turned with the order of the texts' : 'a tie';
}

function score(value: number | undefined): string[] {
  return value === undefined ? [] : [`score ${formatScore(value)}`];
}

function orders({ order, consistency, n }: CompareResult): string[] {
  if (order.length === 0) return [];
  const failed = order.filter((one) => 'error' in one).length;
  const parts = [`${n} comparison${n === 1 ? '' : 's'}, ${order.length} answers asked for`];
  if (failed > 0) parts.push(`${failed} failed`);
  if (consistency !== null) parts.push(`${Math.round(consistency * 100)} % agree in both orders`);
  return [printable(parts.join(', '))];
}

function facts({ model, durationMs, usage }: CompareResult): string {
  return `${model}, ${(durationMs / 1000).toFixed(1)} s, ${tokensSpent(usage)}`;
}
