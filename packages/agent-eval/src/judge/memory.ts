import type { JudgeRequest } from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../core/deadline.js';
import { sha256Hex } from '../core/hash.js';
import type { Judgement } from './judge.js';

export type CacheMode = NonNullable<JudgeRequest['cache']>;

/** Remembers results by key; handed in. Failures are not remembered. */
export interface Memory {
  /**
   * Gives the remembered value, or makes and remembers it; callers with the same key at the same time share
   * one making, which gets a deadline of its own. `fresh` is true for the one caller it was made for.
   */
  through<T extends object>(
    key: string,
    mode: CacheMode,
    deadline: Deadline,
    make: (deadline: Deadline) => Promise<T>,
  ): Promise<{ value: T; fresh: boolean }>;
}

/** A new number leaves every entry behind, for when what is stored changes its shape. */
const KEY_VERSION = 1;

/** Hash over all that can move a result. Every part is JSON, and none is a key or a password. */
export function memoryKey(parts: readonly unknown[]): string {
  return sha256Hex(JSON.stringify([KEY_VERSION, ...parts]));
}

/** An answer that was given before: the same fields, and nothing spent on this call. */
export function asRemembered<T extends Pick<Judgement, 'usage' | 'cached' | 'attempts'>>(
  answer: T,
): T {
  const { usage } = answer;
  return {
    ...answer,
    cached: true,
    attempts: 0,
    usage: {
      inputTokens: 0,
      outputTokens: 0,
      ...(usage?.cachedInputTokens !== undefined && { cachedInputTokens: 0 }),
      costUsd: 0,
    },
  };
}
