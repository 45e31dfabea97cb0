import { availableParallelism, freemem } from 'node:os';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { Clock } from '../../core/clock.js';
import { Limiter } from '../limiter.js';
import type {
  Llama,
  LlamaContext,
  LlamaModel,
  LlamaRuntime,
  Sequence,
  Token,
} from './runtime-types.js';
import type { YesNoAnswers, YesNoModel, YesNoPrompt } from './types.js';
import { YesNoTokens } from './yes-no-tokens.js';

export interface LlamaYesNoOptions {
  name: string;
  file: string;
  bytes: number;
  fileSha256: () => Promise<string>;
  loadRuntime: () => Promise<unknown>;
  clock: Clock;
  /** Unloaded after so long without a call. */
  idleMs: number;
  queueLimit: number;
  /** Threads to compute with; 0 takes every core. */
  threads: number;
  /** Free memory in bytes; default: what the system reports. */
  freeMemory?: () => number;
}

/** What is in memory while the model is loaded. */
interface Loaded {
  runtime: LlamaRuntime;
  llama: Llama;
  model: LlamaModel;
  tokens: YesNoTokens;
  threads: number;
  context: LlamaContext;
  sequence: Sequence;
}

const SMALLEST_CONTEXT = 2048;
const LARGEST_CONTEXT = 16_384;
/** Memory beside the weights: buffers, and the cache of a smallest context. */
const OVERHEAD_BYTES = 400e6;
/** Stands for the user's text while the chat template is rendered. */
const MARK = '\u0002USER\u0003';

/** A GGUF model on llama.cpp that answers yes/no questions by the probabilities of its next token. */
export class LlamaYesNo implements YesNoModel {
  readonly name: string;
  readonly #options: LlamaYesNoOptions;
  readonly #turn: Limiter;
  #loaded: Loaded | null = null;
  #cancelIdle: (() => void) | null = null;

  constructor(options: LlamaYesNoOptions) {
    this.name = options.name;
    this.#options = options;
    this.#turn = new Limiter(1, options.queueLimit);
  }

  async describe(): Promise<{ fileSha256: string; contextSize: number }> {
    const contextSize = this.#loaded?.context.contextSize ?? SMALLEST_CONTEXT;
    return { fileSha256: await this.#options.fileSha256(), contextSize };
  }

  answer(prompt: YesNoPrompt, { signal }: { signal?: AbortSignal } = {}): Promise<YesNoAnswers> {
    const stop = signal ?? new AbortController().signal;
    return this.#turn.run(stop, async () => {
      this.#cancelIdle?.();
      this.#cancelIdle = null;
      try {
        stop.throwIfAborted();
        this.#loaded ??= await this.#load();
        stop.throwIfAborted();
        return await this.#answer(this.#loaded, prompt, stop);
      } finally {
        this.#unloadWhenIdle();
      }
    });
  }

  /** Unloads the model once the calls before it are over. */
  async close(): Promise<void> {
    await this.#turn.run(new AbortController().signal, () => this.#unload());
  }

  async #answer(loaded: Loaded, prompt: YesNoPrompt, stop: AbortSignal): Promise<YesNoAnswers> {
    const { model, tokens } = loaded;
    const { head, tail } = template(loaded, prompt.system);
    const prefix = [
      ...head,
      ...prompt.parts.flatMap(({ text, trusted }) => model.tokenize(text, trusted)),
    ];
    const questions = prompt.questions.map((text) => [...model.tokenize(text, true), ...tail]);
    const longest = Math.max(0, ...questions.map((question) => question.length));
    const sequence = await this.#sequenceFor(loaded, prefix.length + longest);
    await sequence.clearHistory();
    await sequence.evaluateWithoutGeneratingNewTokens(prefix);
    const answers: { yes: number; no: number }[] = [];
    for (const question of questions) {
      stop.throwIfAborted();
      answers.push(tokens.masses(await nextProbabilities(sequence, question)));
    }
    const asked = questions.reduce((sum, question) => sum + question.length, 0);
    return { answers, inputTokens: prefix.length + asked, outputTokens: questions.length };
  }

  /** A sequence with room for so many tokens; a longer text gets a larger context. */
  async #sequenceFor(loaded: Loaded, tokens: number): Promise<Sequence> {
    const needed = tokens + 8;
    if (needed <= loaded.context.contextSize) return loaded.sequence;
    const most = Math.min(LARGEST_CONTEXT, loaded.model.trainContextSize);
    if (needed > most) {
      throw new AgentEvalError(
        'context_overflow',
        `The text has ${tokens} tokens with its context, and ${this.name} takes ${most} at most: judge a shorter text, or use a hosted model.`,
        { tokens, limit: most },
      );
    }
    await loaded.context.dispose();
    const contextSize = Math.min(most, 2 ** Math.ceil(Math.log2(needed)));
    loaded.context = await loaded.model.createContext({
      contextSize,
      threads: loaded.threads,
      sequences: 1,
    });
    loaded.sequence = loaded.context.getSequence();
    return loaded.sequence;
  }

  async #load(): Promise<Loaded> {
    const { file, bytes, freeMemory = freemem } = this.#options;
    const free = freeMemory();
    if (free < bytes + OVERHEAD_BYTES) throw this.#noMemory(bytes + OVERHEAD_BYTES, free);
    const runtime = (await this.#options.loadRuntime()) as LlamaRuntime;
    const cores = Math.min(
      this.#options.threads || Number.POSITIVE_INFINITY,
      availableParallelism(),
    );
    const llama = await runtime.getLlama({
      gpu: false,
      build: 'never',
      skipDownload: true,
      maxThreads: cores,
      logLevel: 'error',
    });
    // More threads than cores make every step wait for the slowest: thirty times slower was seen.
    const threads = Math.max(1, Math.min(llama.cpuMathCores, cores));
    try {
      const model = await llama.loadModel({ modelPath: file });
      const contextSize = Math.min(SMALLEST_CONTEXT, model.trainContextSize);
      const context = await model.createContext({ contextSize, threads, sequences: 1 });
      const sequence = context.getSequence();
      return { runtime, llama, model, tokens: new YesNoTokens(model), threads, context, sequence };
    } catch (error) {
      await llama.dispose();
      throw new AgentEvalError(
        'local_model_invalid',
        `${file} can't be loaded: it may be damaged, or made for a newer runtime.`,
        { file },
        { cause: error },
      );
    }
  }

  #noMemory(needed: number, free: number): AgentEvalError {
    const gb = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;
    return new AgentEvalError(
      'insufficient_memory',
      `${this.name} needs about ${gb(needed)} of memory, and ${gb(free)} are free: close other programs, use a smaller model, or a hosted one.`,
      { neededBytes: needed, freeBytes: free },
    );
  }

  #unloadWhenIdle(): void {
    const { clock, idleMs } = this.#options;
    this.#cancelIdle = clock.setTimer(() => void this.close(), idleMs, { background: true });
  }

  async #unload(): Promise<void> {
    this.#cancelIdle?.();
    this.#cancelIdle = null;
    const loaded = this.#loaded;
    this.#loaded = null;
    await loaded?.llama.dispose();
  }
}

/** Tokens before and after the user's message in the model's own chat template. */
function template({ runtime, model }: Loaded, system: string): { head: Token[]; tail: Token[] } {
  const { contextText } = runtime.resolveChatWrapper(model).generateContextState({
    chatHistory: [
      { type: 'system', text: system },
      { type: 'user', text: MARK },
      { type: 'model', response: [] },
    ],
  });
  const values = [...contextText.values];
  const at = values.findIndex((value) => typeof value === 'string' && value.includes(MARK));
  const [before = '', after = ''] = String(values[at] ?? '').split(MARK);
  const tokens = (part: unknown[]): Token[] =>
    part.length === 0 ? [] : runtime.LlamaText(part).tokenize(model.tokenizer);
  const filled = (part: unknown[]): unknown[] => part.filter((value) => value !== '');
  return {
    head: tokens(filled([...values.slice(0, at), before])),
    tail: tokens(filled([after, ...values.slice(at + 1)])),
  };
}

/** Probabilities of the token that would follow `tokens`; the sequence is left as it was. */
async function nextProbabilities(
  sequence: Sequence,
  tokens: readonly Token[],
): Promise<ReadonlyMap<Token, number>> {
  const start = sequence.nextTokenIndex;
  const last = tokens.at(-1);
  if (last === undefined) throw new RangeError('A question must have tokens');
  // Options of any kind would shrink the map to the likeliest few tokens.
  const out = await sequence.controlledEvaluate([
    ...tokens.slice(0, -1),
    [last, { generateNext: { probabilities: true } }],
  ]);
  await sequence.eraseContextTokenRanges([{ start, end: sequence.nextTokenIndex }]);
  return out[tokens.length - 1]?.next.probabilities ?? new Map();
}
