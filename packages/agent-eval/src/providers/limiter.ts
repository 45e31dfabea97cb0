import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { type Cancellation, Stopped } from '../core/cancel.js';

/** Lets so many calls run at once for one endpoint and key; the rest wait in order. */
export class Limiter {
  readonly #limit: number;
  readonly #queueLimit: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(limit: number, queueLimit: number) {
    this.#limit = limit;
    this.#queueLimit = queueLimit;
  }

  /** Calls running now and calls waiting. */
  get load(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#waiting.size };
  }

  async run<T>(cancel: Cancellation, task: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limit) await this.#turn(cancel);
    else this.#running += 1;
    try {
      return await task();
    } finally {
      this.#release();
    }
  }

  #turn(cancel: Cancellation): Promise<void> {
    if (this.#waiting.size >= this.#queueLimit) {
      throw new AgentEvalError(
        'overloaded',
        `${this.#waiting.size} requests already wait for this endpoint: send fewer at once, or raise --queue-limit.`,
        { waiting: this.#waiting.size, retryAfterMs: 1000 },
      );
    }
    return new Promise((resolve, reject) => {
      const start = (): void => {
        forget();
        resolve();
      };
      this.#waiting.add(start);
      const forget = cancel.onStop(() => {
        this.#waiting.delete(start);
        reject(new Stopped());
      });
    });
  }

  /** Hands the free place to the one that has waited longest. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
