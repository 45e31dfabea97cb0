import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { type Cancellation, Stopped } from '../core/cancel.js';
import { type Clock, systemClock } from '../core/clock.js';

/** Who waits for a place: a deadline, where there is one, says how long that makes sense. */
export type Waiter = Cancellation & { remainingMs?(): number };

interface Queued {
  start(): void;
  fail(error: Error): void;
  readonly caller: Waiter;
}

/** Longest pause that is held without asking again. */
const MAX_PAUSE_MS = 3_600_000;

/**
 * Lets so many calls run at once for one endpoint and key; the rest wait in order. How many adapts: a rate
 * limit halves it, once for all the calls that were out together, and answers let it grow again, by one for
 * each round. A wait that the endpoint asks for holds every call.
 */
export class Limiter {
  readonly #ceiling: number;
  readonly #queueLimit: number;
  readonly #clock: Clock;
  readonly #waiting = new Set<Queued>();
  #limit: number;
  #running = 0;
  #round = 0;
  /** On the monotonic clock; 0 while nothing is held. */
  #heldUntil = 0;
  #stopTimer: (() => void) | null = null;

  constructor(limit: number, queueLimit: number, clock: Clock = systemClock) {
    this.#ceiling = limit;
    this.#limit = limit;
    this.#queueLimit = queueLimit;
    this.#clock = clock;
  }

  /** Calls running now and calls waiting. */
  get load(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#waiting.size };
  }

  /** How many calls may run at once now. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Calls that start between two cuts of the limit share one round. */
  get round(): number {
    return this.#round;
  }

  async run<T>(caller: Waiter, task: () => Promise<T>): Promise<T> {
    if (this.#running < this.limit && this.#heldUntil === 0) this.#running += 1;
    else await this.#turn(caller);
    try {
      return await task();
    } finally {
      this.#running -= 1;
      if (this.#waiting.size > 0) this.#startNext();
    }
  }

  /** A call of this round was answered. */
  answered(round: number): void {
    if (this.#limit < this.#ceiling && round === this.#round) {
      this.#limit = Math.min(this.#ceiling, this.#limit + 1 / this.#limit);
      if (this.#waiting.size > 0) this.#startNext();
    }
  }

  /** A call of this round was turned away; `waitMs` is how long every call has to wait for that. */
  turnedAway(round: number, waitMs: number | undefined): void {
    if (round === this.#round) {
      this.#limit = Math.max(1, Math.floor(this.#limit / 2));
      this.#round += 1;
    }
    if (waitMs !== undefined && waitMs > 0) this.#hold(Math.min(waitMs, MAX_PAUSE_MS));
  }

  #hold(waitMs: number): void {
    const until = this.#clock.monotonic() + waitMs;
    if (until <= this.#heldUntil) return;
    this.#heldUntil = until;
    this.#stopTimer?.();
    this.#stopTimer = this.#clock.setTimer(() => this.#release(), waitMs, { background: true });
    for (const queued of [...this.#waiting]) {
      if (!this.#fits(queued.caller)) queued.fail(this.#tooLong());
    }
  }

  #release(): void {
    const left = this.#heldUntil - this.#clock.monotonic();
    // Timers may fire a little early.
    if (left > 0) {
      this.#stopTimer = this.#clock.setTimer(() => this.#release(), left, { background: true });
      return;
    }
    this.#heldUntil = 0;
    this.#stopTimer = null;
    this.#startNext();
  }

  #fits(caller: Waiter): boolean {
    const left = caller.remainingMs?.() ?? Number.POSITIVE_INFINITY;
    return this.#heldUntil === 0 || this.#heldUntil - this.#clock.monotonic() < left;
  }

  #tooLong(): AgentEvalError {
    const waitMs = Math.ceil(this.#heldUntil - this.#clock.monotonic());
    return new AgentEvalError(
      'rate_limited',
      `the endpoint asked to be left alone for another ${Math.ceil(waitMs / 1000)} s, which is longer than this call may take. Try again later, or raise --timeout-ms.`,
      { retryAfterMs: waitMs },
    );
  }

  #turn(caller: Waiter): Promise<void> {
    if (!this.#fits(caller)) throw this.#tooLong();
    if (this.#waiting.size >= this.#queueLimit) {
      throw new AgentEvalError(
        'overloaded',
        `${this.#waiting.size} requests already wait for this endpoint: send fewer at once, or raise --queue-limit.`,
        { waiting: this.#waiting.size, retryAfterMs: 1000 },
      );
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(queued);
        forget();
      };
      const fail = (error: Error): void => {
        leave();
        reject(error);
      };
      const start = (): void => {
        leave();
        resolve();
      };
      const queued: Queued = { start, fail, caller };
      this.#waiting.add(queued);
      let forget = (): void => {};
      forget = caller.onStop(() => fail(new Stopped()));
    });
  }

  /** Gives free places to those that have waited longest. */
  #startNext(): void {
    if (this.#heldUntil !== 0) return;
    for (const queued of this.#waiting) {
      if (this.#running >= this.limit) return;
      this.#running += 1;
      queued.start();
    }
  }
}
