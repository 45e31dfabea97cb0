import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { Canceller } from '../core/cancel.js';
import type { Deadline } from '../core/deadline.js';

/** The asking of a panel, which ends early when so many have failed that the others could not make a verdict. */
export interface Round {
  /** That of the call, stopped when the round is over. */
  readonly deadline: Deadline;
  readonly over: boolean;
  /** Counts members that failed. */
  fail(members: number): void;
  /** Stops listening to the call. */
  release(): void;
}

/** @param spare how many members may fail */
export function startRound(call: Deadline, spare: number): Round {
  const canceller = new Canceller();
  const release = call.onStop(() => canceller.stop());
  let left = spare;
  const deadline: Deadline = {
    get stopped() {
      return canceller.stopped;
    },
    onStop: (fn) => canceller.onStop(fn),
    timeoutMs: call.timeoutMs,
    remainingMs: () => call.remainingMs(),
    stopReason: () => call.stopReason() ?? (canceller.stopped ? 'cancelled' : null),
    release,
  };
  return {
    deadline,
    get over() {
      return left < 0;
    },
    fail(members) {
      left -= members;
      if (left < 0) canceller.stop();
    },
    release,
  };
}

/** What became of a member that was not waited for, or not even asked. */
export function calledOff(asked: boolean): AgentEvalError {
  return new AgentEvalError(
    'cancelled',
    'Called off, as too many others had failed for the quorum to be reached.',
    asked ? {} : { attempts: 0 },
  );
}
