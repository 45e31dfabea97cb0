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
    validDelay(decimal(header('retry-after-ms'))) ??
    validDelay(scale(decimal(header('retry-after')), 1000)) ??
    httpDelay(header('retry-after'), nowMs)
  );
}

function decimal(value: string | undefined): number | undefined {
  return value !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}

function scale(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor;
}

/** Time until an HTTP or RFC 3339 date; undefined when it is none, or past. */
export function httpDelay(value: string | undefined, nowMs: number): number | undefined {
  // V8 takes almost any word with a number for a date.
  if (value === undefined || !/\d:\d\d/.test(value)) return undefined;
  return validDelay(Date.parse(value) - nowMs);
}

/** The delay if it can be meant: neither negative, nor longer than a year, nor no number at all. */
export function validDelay(delayMs: number | undefined): number | undefined {
  return delayMs !== undefined && delayMs >= 0 && delayMs <= MAX_RETRY_AFTER_MS
    ? delayMs
    : undefined;
}
