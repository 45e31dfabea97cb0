import { type Cancellation, Stopped } from './cancel.js';

/** Time as the engine sees it; tests hand in their own. */
export interface Clock {
  /** Unix time in milliseconds. */
  now(): number;
  /** Milliseconds that only move forward. */
  monotonic(): number;
  /** Resolves after `ms`, rejects with `Stopped` when it is called off first. */
  sleep(ms: number, cancel?: Cancellation): Promise<void>;
  /** Calls `fn` after `ms`; the returned function calls it off. A background timer lets the process end. */
  setTimer(fn: () => void, ms: number, options?: { background?: boolean }): () => void;
}

/** Longest delay that a Node timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls `fn` once the events at hand have been dealt with. */
export function soon(fn: () => void): void {
  setImmediate(fn);
}

/** A signal that fires after `ms`. */
export function timeoutSignal(ms: number): AbortSignal {
  return AbortSignal.timeout(ms);
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep(ms, cancel) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => {
          forget?.();
          resolve();
        },
        Math.min(ms, MAX_TIMER_MS),
      );
      const forget = cancel?.onStop(() => {
        clearTimeout(timer);
        reject(new Stopped());
      });
    });
  },
  setTimer(fn, ms, options) {
    const timer = setTimeout(fn, Math.min(ms, MAX_TIMER_MS));
    if (options?.background === true) timer.unref();
    return () => clearTimeout(timer);
  },
};

/** A number in [0, 1). */
export type Random = () => number;

export const systemRandom: Random = Math.random;
