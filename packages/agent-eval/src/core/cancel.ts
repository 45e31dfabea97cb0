/**
 * Says that nobody waits for some work any more. An AbortSignal costs a hundred times as much, and each call
 * would need several; `signalOf` makes one where a library asks for it.
 */
export interface Cancellation {
  readonly stopped: boolean;
  /** Calls `fn` when it stops, at once if it has; the returned function calls that off. */
  onStop(fn: () => void): () => void;
}

/** What work that was called off rejects with, where no better error is known. */
export class Stopped extends Error {
  constructor() {
    super('stopped');
  }
}

const nothing = (): void => {};

/** For work that nobody calls off. */
export const NEVER: Cancellation = { stopped: false, onStop: () => nothing };

/** A cancellation with its trigger. */
export class Canceller implements Cancellation {
  #stopped = false;
  readonly #listeners = new Set<() => void>();

  get stopped(): boolean {
    return this.#stopped;
  }

  onStop(fn: () => void): () => void {
    if (this.#stopped) {
      fn();
      return nothing;
    }
    this.#listeners.add(fn);
    return () => this.#listeners.delete(fn);
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}

/** The same cancellation as an AbortSignal sees it. */
export function cancellationOf(signal: AbortSignal): Cancellation {
  return {
    get stopped() {
      return signal.aborted;
    },
    onStop(fn) {
      if (signal.aborted) {
        fn();
        return nothing;
      }
      signal.addEventListener('abort', fn, { once: true });
      return () => signal.removeEventListener('abort', fn);
    },
  };
}

/** An AbortSignal that fires with the cancellation, for libraries that take one. */
export function signalOf(cancellation: Cancellation): AbortSignal {
  const controller = new AbortController();
  cancellation.onStop(() => controller.abort(new Stopped()));
  return controller.signal;
}
