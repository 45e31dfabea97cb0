import type { JudgeResult, Usage } from '@tangle-network/agent-eval-contract';
import { type Output, printable, table } from './output.js';

/** A verdict for people. */
export function verdictLines(result: JudgeResult, output: Output): string[] {
  const rubric = result.rubricVersion.slice(0, result.rubricVersion.lastIndexOf('@'));
  const scores = Object.entries(result.dimensions).map(([id, score]) => [
    `  ${id}`,
    formatScore(score),
  ]);
  const found = (ids: string[], list: 'failureModes' | 'wins'): string => {
    const looked = !result.notAssessed.includes(list);
    const names = ids.length > 0 ? ids.join(', ') : looked ? 'none' : '';
    const unseen = looked ? '' : '(not all were looked for)';
    return [names, unseen].filter((part) => part !== '').join(' ');
  };
  return [
    output.strong(printable(`${rubric}: ${formatScore(result.composite)}`)),
    ...table(scores).map(printable),
    printable(`failure modes: ${found(result.failureModes, 'failureModes')}`),
    printable(`wins: ${found(result.wins, 'wins')}`),
    ...panelLines(result).map(printable),
    ...(result.rationale === '' ? [] : ['', printable(result.rationale)]),
    '',
    output.dim(printable(facts(result))),
    ...result.warnings.map((warning) => output.dim(printable(`warning: ${warning}`))),
  ];
}

/** What each member of a panel said, and how far apart they are. */
function panelLines({ samples, stdev, agreement }: JudgeResult): string[] {
  if (samples === undefined) return [];
  const rows = samples.map((one) => [
    `  ${one.model}`,
    'error' in one ? `none (${one.error.code})` : formatScore(one.composite),
  ]);
  const apart =
    stdev == null || agreement == null
      ? []
      : [`standard deviation ${stdev.toFixed(2)}, agreement ${agreement.toFixed(2)}`];
  return [`${samples.length} verdicts:`, ...table(rows), ...apart];
}

export function formatScore(score: number): string {
  return Number.isInteger(score) ? String(score) : score.toFixed(2);
}

function facts({ model, durationMs, usage }: JudgeResult): string {
  return `${model}, ${(durationMs / 1000).toFixed(1)} s, ${tokensSpent(usage)}`;
}

export function tokensSpent(usage: Usage | null): string {
  return usage === null ? 'usage unknown' : `${usage.inputTokens} + ${usage.outputTokens} tokens`;
}
