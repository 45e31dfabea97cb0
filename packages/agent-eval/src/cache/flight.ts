import { Canceller, Stopped } from '../core/cancel.js';
import type { Deadline } from '../core/deadline.js';

/** What a caller gets: the first of those who share the work is the one it was done for. */
export interface Landed<T> {
  value: T;
  /** False for those who got a copy of somebody else's result. */
  fresh: boolean;
}

interface Waiter<T> {
  deadline: Deadline;
  resolve(landed: Landed<T>): void;
  reject(error: unknown): void;
  forget(): void;
}

/** Work that several callers wait for. It stops when the last of them has left. */
export class Flight<T> {
  readonly #waiters = new Set<Waiter<T>>();
  readonly #canceller = new Canceller();
  readonly deadline: Deadline = this.#sharedDeadline();

  /** Nobody waits any more; who comes now needs a flight of their own. */
  get abandoned(): boolean {
    return this.#canceller.stopped;
  }

  join(deadline: Deadline): Promise<Landed<T>> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter<T> = { deadline, resolve, reject, forget: () => {} };
      this.#waiters.add(waiter);
      waiter.forget = deadline.onStop(() => this.#leave(waiter));
    });
  }

  /** Hands the value to the first, and a copy of its own to everyone else. */
  land(value: T, copy: () => T): void {
    let fresh = true;
    for (const waiter of this.#take()) {
      waiter.resolve({ value: fresh ? value : copy(), fresh });
      fresh = false;
    }
  }

  fail(error: unknown): void {
    for (const waiter of this.#take()) waiter.reject(error);
  }

  #take(): Waiter<T>[] {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter.forget();
    return waiters;
  }

  #leave(waiter: Waiter<T>): void {
    if (!this.#waiters.delete(waiter)) return;
    waiter.reject(new Stopped());
    if (this.#waiters.size === 0) this.#canceller.stop();
  }

  /** The work has as long as the most patient of those who wait. */
  #sharedDeadline(): Deadline {
    const canceller = this.#canceller;
    const most = (of: (deadline: Deadline) => number): number =>
      Math.max(0, ...[...this.#waiters].map(({ deadline }) => of(deadline)));
    return {
      get stopped() {
        return canceller.stopped;
      },
      onStop: (fn) => canceller.onStop(fn),
      get timeoutMs() {
        return most((deadline) => deadline.timeoutMs);
      },
      remainingMs: () => most((deadline) => deadline.remainingMs()),
      stopReason: () => (canceller.stopped ? 'cancelled' : null),
      release: () => {},
    };
  }
}
