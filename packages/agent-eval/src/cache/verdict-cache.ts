import type { JudgeRequest } from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../core/deadline.js';
import { Flight, type Landed } from './flight.js';
import type { VerdictFile } from './verdict-file.js';

export interface VerdictCacheOptions {
  /** Opens the file; called once, at the first use. */
  open: () => Promise<VerdictFile>;
  warn(message: string): void;
  /** Told of every look-up that was allowed to hit. */
  onLookup?: ((hit: boolean) => void) | undefined;
}

type Mode = NonNullable<JudgeRequest['cache']>;

/** Remembers results in a file, and lets callers who ask the same at the same time share one answer. */
export class VerdictCache {
  readonly #options: VerdictCacheOptions;
  readonly #flights = new Map<string, Flight<object>>();
  #file: Promise<VerdictFile> | null = null;
  #told = false;

  constructor(options: VerdictCacheOptions) {
    this.#options = options;
  }

  /** Opens the file, or throws why it can't be used. */
  file(): Promise<VerdictFile> {
    if (this.#file !== null) return this.#file;
    const opened = this.#options.open();
    this.#file = opened;
    // What was missing may be there at the next call.
    opened.catch(() => {
      this.#file = null;
    });
    return opened;
  }

  async through<T extends object>(
    key: string,
    mode: Mode,
    deadline: Deadline,
    make: (deadline: Deadline) => Promise<T>,
  ): Promise<Landed<T>> {
    if (mode === 'bypass') return { value: await make(deadline), fresh: true };
    const file = await this.file();
    if (mode === 'use') {
      const found = await this.#find<T>(file, key);
      this.#options.onLookup?.(found !== null);
      if (found !== null) return { value: found, fresh: false };
    }
    return this.#share(file, key, mode, deadline, make);
  }

  async close(): Promise<void> {
    const file = await this.#file?.catch(() => null);
    file?.close();
  }

  /** One making for all who ask meanwhile; who wants a new answer joins only others who want one. */
  #share<T extends object>(
    file: VerdictFile,
    key: string,
    mode: Mode,
    deadline: Deadline,
    make: (deadline: Deadline) => Promise<T>,
  ): Promise<Landed<T>> {
    const name = `${mode} ${key}`;
    const underway = this.#flights.get(name) as Flight<T> | undefined;
    if (underway !== undefined && !underway.abandoned) return underway.join(deadline);
    const flight = new Flight<T>();
    this.#flights.set(name, flight as unknown as Flight<object>);
    const landed = flight.join(deadline);
    const done = (): void => {
      if ((this.#flights.get(name) as unknown) === flight) this.#flights.delete(name);
    };
    void make(flight.deadline).then(
      async (value) => {
        const text = JSON.stringify(value);
        // Stored before anyone hears of it: what was answered is never judged again after a crash.
        await this.#store(file, key, text);
        done();
        flight.land(value, () => JSON.parse(text) as T);
      },
      (error: unknown) => {
        done();
        flight.fail(error);
      },
    );
    return landed;
  }

  async #find<T>(file: VerdictFile, key: string): Promise<T | null> {
    try {
      const text = await file.get(key);
      return text === null ? null : (JSON.parse(text) as T);
    } catch (error) {
      this.#tell('read', error);
      return null;
    }
  }

  async #store(file: VerdictFile, key: string, text: string): Promise<void> {
    try {
      await file.put(key, text);
    } catch (error) {
      this.#tell('write', error);
    }
  }

  /** A cache that fails costs time and money, never a verdict: said once, then gone on without. */
  #tell(what: string, error: unknown): void {
    if (this.#told) return;
    this.#told = true;
    const why = error instanceof Error ? error.message : String(error);
    this.#options.warn(`the cache could not be ${what === 'read' ? 'read' : 'written'}: ${why}`);
  }
}
