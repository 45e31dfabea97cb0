import { type Cancellation, Canceller } from './cancel.js';
import type { Clock } from './clock.js';

/** Why a call stopped: `timeout` when its own deadline passed, `cancelled` when the caller left. */
export type StopReason = 'timeout' | 'cancelled';

/** One call's limit in time: it stops at the deadline or when the caller cancels. */
export interface Deadline extends Cancellation {
  readonly timeoutMs: number;
  remainingMs(): number;
  /** Set once it has stopped. */
  stopReason(): StopReason | null;
  /** Ends the timer, the listening to the caller and what is still under way; to be called when the call is over. */
  release(): void;
}

export function startDeadline(clock: Clock, timeoutMs: number, caller?: Cancellation): Deadline {
  const canceller = new Canceller();
  const end = clock.monotonic() + timeoutMs;
  let reason: StopReason | null = null;
  const stop = (why: StopReason): void => {
    reason ??= why;
    canceller.stop();
  };
  const cancelTimer = clock.setTimer(() => stop('timeout'), timeoutMs);
  const forgetCaller = caller?.onStop(() => stop('cancelled'));
  return {
    get stopped() {
      return canceller.stopped;
    },
    onStop: (fn) => canceller.onStop(fn),
    timeoutMs,
    remainingMs: () => end - clock.monotonic(),
    stopReason: () => reason,
    release() {
      cancelTimer();
      forgetCaller?.();
      // One of several askings may have ended the call: nothing would end the others any more.
      stop('cancelled');
    },
  };
}
