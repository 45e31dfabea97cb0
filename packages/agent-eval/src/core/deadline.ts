import type { Clock } from './clock.js';

/** Why a call's signal fired: `timeout` when its own deadline passed, `cancelled` when the caller left. */
export type StopReason = 'timeout' | 'cancelled';

/** One call's limit in time: a signal that fires at the deadline or when the caller cancels. */
export interface Deadline {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  remainingMs(): number;
  /** Set once the signal has fired. */
  stopReason(): StopReason | null;
  /** Ends the timer and the listener on the caller's signal; to be called when the call is over. */
  release(): void;
}

export function startDeadline(clock: Clock, timeoutMs: number, caller?: AbortSignal): Deadline {
  const controller = new AbortController();
  const end = clock.monotonic() + timeoutMs;
  let reason: StopReason | null = null;
  const stop = (why: StopReason): void => {
    if (reason !== null) return;
    reason = why;
    controller.abort(new Error(why));
  };
  const onCancel = (): void => stop('cancelled');
  const cancelTimer = clock.setTimer(() => stop('timeout'), timeoutMs);
  if (caller?.aborted === true) onCancel();
  else caller?.addEventListener('abort', onCancel, { once: true });
  return {
    signal: controller.signal,
    timeoutMs,
    remainingMs: () => end - clock.monotonic(),
    stopReason: () => reason,
    release() {
      cancelTimer();
      caller?.removeEventListener('abort', onCancel);
    },
  };
}
