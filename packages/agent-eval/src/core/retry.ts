import type { Random } from './clock.js';

/** How often and how patiently a failed request is sent again. */
export interface RetryPolicy {
  /** Requests in all, the first included. */
  attempts: number;
  baseMs: number;
  maxMs: number;
  /** Two requests of one call are never closer than this. */
  minGapMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = {
  attempts: 4,
  baseMs: 500,
  maxMs: 20_000,
  minGapMs: 100,
};

/**
 * Wait before attempt `attempt + 1`: capped exponential backoff with full jitter in its upper half. A
 * wait the server asked for is a lower bound and gets up to 10 % on top, so that callers spread out.
 */
export function retryDelayMs(
  policy: RetryPolicy,
  attempt: number,
  random: Random,
  serverAsksMs?: number,
): number {
  if (serverAsksMs !== undefined) {
    return Math.max(policy.minGapMs, serverAsksMs * (1 + 0.1 * random()));
  }
  const ceiling = Math.min(policy.maxMs, policy.baseMs * 2 ** (attempt - 1));
  return Math.max(policy.minGapMs, ceiling * (0.5 + 0.5 * random()));
}

/** Longest wait a server may ask for that is still taken to be meant. */
const MAX_RETRY_AFTER_MS = 366 * 24 * 3600 * 1000;

/** Reads `retry-after-ms` and `retry-after` (seconds or an HTTP date). Undefined when absent or not valid. */
export function retryAfterMs(
  header: (name: string) => string | undefined,
  nowMs: number,
): number | undefined {
  return (
    within(decimal(header('retry-after-ms'))) ??
    within(scale(decimal(header('retry-after')), 1000)) ??
    within(httpDateDelay(header('retry-after'), nowMs))
  );
}

function decimal(value: string | undefined): number | undefined {
  return value !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}

function scale(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor;
}

function httpDateDelay(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined || !/[a-z]/i.test(value)) return undefined;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : at - nowMs;
}

function within(delayMs: number | undefined): number | undefined {
  return delayMs !== undefined && delayMs >= 0 && delayMs <= MAX_RETRY_AFTER_MS
    ? delayMs
    : undefined;
}
