import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { cancellationOf, NEVER } from '../../core/cancel.js';
import type { Clock } from '../../core/clock.js';
import { Limiter } from '../limiter.js';
import { LARGEST_CONTEXT, LoadedModel, type LoadOptions } from './loaded-model.js';
import type { YesNoAnswers, YesNoModel, YesNoPrompt } from './types.js';

export interface LlamaYesNoOptions extends LoadOptions {
  fileSha256: () => Promise<string>;
  clock: Clock;
  /** Unloaded after so long without a call. */
  idleMs: number;
  queueLimit: number;
}

/** A GGUF model on llama.cpp that answers yes/no questions by the probabilities of its next token. */
export class LlamaYesNo implements YesNoModel {
  readonly name: string;
  readonly #options: LlamaYesNoOptions;
  /** Without a limit of its own: unloading must always find a place in the queue. */
  readonly #turn = new Limiter(1, Number.POSITIVE_INFINITY);
  #loaded: LoadedModel | null = null;
  #cancelIdle: (() => void) | null = null;

  constructor(options: LlamaYesNoOptions) {
    this.name = options.name;
    this.#options = options;
  }

  async describe(): Promise<{ fileSha256: string; contextSize: number }> {
    const contextSize = this.#loaded?.contextSize ?? LARGEST_CONTEXT;
    return { fileSha256: await this.#options.fileSha256(), contextSize };
  }

  async answer(
    prompt: YesNoPrompt,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<YesNoAnswers> {
    const { waiting } = this.#turn.load;
    if (waiting >= this.#options.queueLimit) throw this.#overloaded(waiting);
    const stop = signal ?? new AbortController().signal;
    return this.#turn.run(cancellationOf(stop), async () => {
      this.#cancelIdle?.();
      this.#cancelIdle = null;
      try {
        stop.throwIfAborted();
        this.#loaded ??= await LoadedModel.load(this.#options, stop);
        return await this.#loaded.answer(prompt, stop);
      } catch (error) {
        await this.#dropAfter(error, stop);
        throw error;
      } finally {
        this.#unloadWhenIdle();
      }
    });
  }

  /** Unloads the model once the calls before it are over; a later call loads it again. */
  async close(): Promise<void> {
    await this.#turn.run(NEVER, () => this.#unload());
  }

  /** A text that is too long, or a caller that left, says nothing against the model; anything else may have broken it. */
  async #dropAfter(error: unknown, stop: AbortSignal): Promise<void> {
    const harmless = error instanceof AgentEvalError && error.code === 'context_overflow';
    if (harmless || stop.aborted) return;
    await this.#unload().catch(() => {});
  }

  #unloadWhenIdle(): void {
    if (this.#loaded === null) return;
    const { clock, idleMs } = this.#options;
    // What goes wrong while unloading has no caller to go to.
    const unload = (): void => void this.close().catch(() => {});
    this.#cancelIdle = clock.setTimer(unload, idleMs, { background: true });
  }

  async #unload(): Promise<void> {
    this.#cancelIdle?.();
    this.#cancelIdle = null;
    const loaded = this.#loaded;
    this.#loaded = null;
    await loaded?.dispose();
  }

  #overloaded(waiting: number): AgentEvalError {
    return new AgentEvalError(
      'overloaded',
      `${waiting} requests already wait for ${this.name}, which answers one at a time: send fewer at once, or raise --queue-limit.`,
      { waiting, retryAfterMs: 1000 },
    );
  }
}
