import type { Usage } from '@tangle-network/agent-eval-contract';
import type { Member } from './member.js';

/** What a panel took, the members that failed included; usage is null where a reply came without it. */
export function spent(members: readonly Member[]): { usage: Usage | null; attempts: number } {
  const parts = members.map(spentBy);
  return {
    usage: parts.map(({ usage }) => usage).reduce(sum, NOTHING),
    attempts: parts.reduce((total, { attempts }) => total + attempts, 0),
  };
}

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };

function spentBy(member: Member): { usage: Usage | null; attempts: number } {
  if ('judgement' in member) return member.judgement;
  const { code, details } = member.error;
  const attempts = typeof details.attempts === 'number' ? details.attempts : 0;
  const known = isUsage(details.usage)
    ? { ...details.usage, costUsd: costOf(details.usage) }
    : null;
  // A reply without a verdict is paid for; of other failures only what they say is known.
  const replied = code.startsWith('judge_');
  return { usage: known ?? (replied && attempts > 0 ? null : NOTHING), attempts };
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
