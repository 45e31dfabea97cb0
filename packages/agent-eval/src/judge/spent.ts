import type { AgentEvalError, Usage } from '@tangle-network/agent-eval-contract';

/** What one asking took. */
export interface Spent {
  usage: Usage | null;
  attempts: number;
}

/** What several askings took together; usage is null where a reply came without it. */
export function spent(parts: readonly Spent[]): Spent {
  return {
    usage: parts.map(({ usage }) => usage).reduce(sum, NOTHING),
    attempts: parts.reduce((total, { attempts }) => total + attempts, 0),
  };
}

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };

/** What was spent until an asking failed. */
export function spentUntil({ code, details }: AgentEvalError): Spent {
  const attempts = typeof details.attempts === 'number' ? details.attempts : 0;
  const known = isUsage(details.usage)
    ? { ...details.usage, costUsd: costOf(details.usage) }
    : null;
  // A reply without a verdict is paid for; of other failures only what they say is known.
  const replied = code.startsWith('judge_') && attempts > 0;
  // One that was cut off may have been answered all the same, unless it was never sent.
  const cutOff = (code === 'timeout' || code === 'cancelled') && details.attempts !== 0;
  return { usage: known ?? (replied || cutOff ? null : NOTHING), attempts };
}

function isUsage(value: unknown): value is Omit<Usage, 'costUsd'> & { costUsd?: number | null } {
  return (
    typeof value === 'object' && value !== null && 'inputTokens' in value && 'outputTokens' in value
  );
}

const costOf = ({ costUsd }: { costUsd?: number | null }): number | null => costUsd ?? null;

function sum(a: Usage | null, b: Usage | null): Usage | null {
  if (a === null || b === null) return null;
  const cached = a.cachedInputTokens ?? b.cachedInputTokens;
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    ...(cached !== undefined && {
      cachedInputTokens: (a.cachedInputTokens ?? 0) + (b.cachedInputTokens ?? 0),
    }),
    costUsd: a.costUsd === null || b.costUsd === null ? null : a.costUsd + b.costUsd,
  };
}
