import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { availableCores, availableMemory } from './device.js';
import type {
  GenerateNext,
  Llama,
  LlamaContext,
  LlamaModel,
  LlamaRuntime,
  Sequence,
  Token,
} from './runtime-types.js';
import { chatTemplate } from './template.js';
import type { YesNoAnswers, YesNoPrompt } from './types.js';
import { YesNoTokens } from './yes-no-tokens.js';

export interface LoadOptions {
  name: string;
  file: string;
  bytes: number;
  loadRuntime: () => Promise<unknown>;
  /** Threads to compute with; 0 takes every core. */
  threads: number;
  /** Free memory in bytes; default: what the system reports. */
  freeMemory?: () => number;
}

interface Parts {
  runtime: LlamaRuntime;
  llama: Llama;
  model: LlamaModel;
  threads: number;
  context: LlamaContext;
}

const SMALLEST_CONTEXT = 2048;
/** Longer texts would take minutes on a processor. */
export const LARGEST_CONTEXT = 8192;
/** Memory beside the weights: buffers, and the cache of a smallest context. */
const OVERHEAD_BYTES = 400e6;
/** Kept free, so that the runtime never makes room by forgetting the start of the text. */
const SPARE_TOKENS = 8;
/** Tokens of the shared start between two looks at the signal: about three seconds of a 1.5 B model. */
const STEP_TOKENS = 256;
/** No text has so many characters a token; it is refused before the work of splitting it. */
const MOST_CHARACTERS_A_TOKEN = 100;

/** A GGUF model in memory with one sequence to evaluate in. */
export class LoadedModel {
  readonly #options: LoadOptions;
  readonly #parts: Parts;
  readonly #tokens: YesNoTokens;
  #sequence: Sequence;

  private constructor(options: LoadOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#tokens = new YesNoTokens(parts.model);
    this.#sequence = parts.context.getSequence();
  }

  static async load(options: LoadOptions, signal: AbortSignal): Promise<LoadedModel> {
    checkMemory(options, options.bytes + OVERHEAD_BYTES);
    const runtime = (await options.loadRuntime()) as LlamaRuntime;
    const cores = await availableCores();
    const wanted = options.threads === 0 ? cores : Math.min(options.threads, cores);
    const llama = await startLlama(runtime, wanted);
    try {
      const model = await llama.loadModel({ modelPath: options.file, loadSignal: signal });
      // More threads than cores make every step wait for the slowest: thirty times slower was seen.
      const threads = Math.max(1, Math.min(llama.cpuMathCores, wanted));
      const contextSize = Math.min(SMALLEST_CONTEXT, model.trainContextSize);
      const context = await model.createContext({ contextSize, threads, sequences: 1 });
      return new LoadedModel(options, { runtime, llama, model, threads, context });
    } catch (error) {
      await llama.dispose();
      signal.throwIfAborted();
      throw loadError(options, error);
    }
  }

  /** Size of the largest context that it gets. */
  get contextSize(): number {
    return Math.min(LARGEST_CONTEXT, this.#parts.model.trainContextSize);
  }

  async answer(prompt: YesNoPrompt, signal: AbortSignal): Promise<YesNoAnswers> {
    const { runtime, model } = this.#parts;
    this.#refuseEndless(prompt);
    const { head, tail } = chatTemplate(runtime, model, prompt.system);
    const parts = prompt.parts.flatMap(({ text, trusted }) => model.tokenize(text, trusted));
    const prefix = [...head, ...parts];
    const questions = prompt.questions.map((text) => [...model.tokenize(text, true), ...tail]);
    const longest = Math.max(0, ...questions.map(({ length }) => length));
    await this.#makeRoom(prefix.length + longest);
    await this.#start(prefix, signal);
    const answers: { yes: number; no: number }[] = [];
    for (const question of questions) {
      signal.throwIfAborted();
      answers.push(this.#tokens.masses(await nextProbabilities(this.#sequence, question)));
    }
    const asked = questions.reduce((sum, question) => sum + question.length, 0);
    return { answers, inputTokens: prefix.length + asked, outputTokens: questions.length };
  }

  async dispose(): Promise<void> {
    await this.#parts.llama.dispose();
  }

  /** Evaluates what all questions share. */
  async #start(prefix: readonly Token[], signal: AbortSignal): Promise<void> {
    await this.#sequence.clearHistory();
    for (let at = 0; at < prefix.length; at += STEP_TOKENS) {
      signal.throwIfAborted();
      await this.#sequence.evaluateWithoutGeneratingNewTokens(prefix.slice(at, at + STEP_TOKENS));
    }
  }

  #refuseEndless(prompt: YesNoPrompt): void {
    const characters = prompt.parts.reduce((sum, { text }) => sum + text.length, 0);
    if (characters > this.contextSize * MOST_CHARACTERS_A_TOKEN) {
      throw this.#overflow(`${characters} characters`, { characters });
    }
  }

  /** Changes to a larger context when the present one is too small. After a failure this model is of no more use. */
  async #makeRoom(tokens: number): Promise<void> {
    const parts = this.#parts;
    const needed = tokens + SPARE_TOKENS;
    if (needed > this.contextSize) throw this.#overflow(`${tokens} tokens`, { tokens });
    if (needed <= parts.context.contextSize) return;
    await parts.context.dispose();
    const contextSize = Math.min(this.contextSize, 2 ** Math.ceil(Math.log2(needed)));
    try {
      const { threads } = parts;
      parts.context = await parts.model.createContext({ contextSize, threads, sequences: 1 });
      this.#sequence = parts.context.getSequence();
    } catch (error) {
      throw loadError(this.#options, error);
    }
  }

  #overflow(size: string, details: Record<string, number>): AgentEvalError {
    const limit = this.contextSize - SPARE_TOKENS;
    return new AgentEvalError(
      'context_overflow',
      `The text has ${size} with its context, and ${this.#options.name} takes ${limit} tokens at most: judge a shorter text, or use a hosted model.`,
      { ...details, limit },
    );
  }
}

async function startLlama(runtime: LlamaRuntime, maxThreads: number): Promise<Llama> {
  try {
    return await runtime.getLlama({
      gpu: false,
      build: 'never',
      skipDownload: true,
      maxThreads,
      logLevel: 'error',
    });
  } catch (error) {
    throw new AgentEvalError(
      'local_runtime_missing',
      'The library of the runtime for local models does not work on this machine: node-llama-cpp needs a prebuilt library for it (on Linux with glibc). Use a hosted model, or install a node-llama-cpp that works beside the engine.',
      {},
      { cause: error },
    );
  }
}

/**
 * The likeliest thousand tokens, unchanged but for their sum: a map of all 150,000 takes a quarter of the
 * time of a question. topP and minP are off, since their defaults keep two or three.
 */
const NEXT: GenerateNext = {
  probabilities: true,
  options: { temperature: 1, topK: 1000, topP: 1, minP: 0 },
};

/** Probabilities of the token that would follow `tokens`; the sequence is left as it was. */
async function nextProbabilities(
  sequence: Sequence,
  tokens: readonly Token[],
): Promise<ReadonlyMap<Token, number>> {
  const start = sequence.nextTokenIndex;
  const last = tokens.at(-1);
  if (last === undefined) throw new RangeError('A question must have tokens');
  const out = await sequence.controlledEvaluate([
    ...tokens.slice(0, -1),
    [last, { generateNext: NEXT }],
  ]);
  await sequence.eraseContextTokenRanges([{ start, end: sequence.nextTokenIndex }]);
  return out[tokens.length - 1]?.next.probabilities ?? new Map();
}

function checkMemory({ name, freeMemory = availableMemory }: LoadOptions, needed: number): void {
  const free = freeMemory();
  if (free < needed) {
    throw noMemory(
      `${name} needs about ${gb(needed)} of memory, and ${gb(Math.max(0, free))} are free`,
      {
        neededBytes: needed,
        freeBytes: free,
      },
    );
  }
}

function noMemory(
  reason: string,
  details: Record<string, number>,
  cause?: unknown,
): AgentEvalError {
  const message = `${reason}: close other programs, use a smaller model, or a hosted one.`;
  return new AgentEvalError('insufficient_memory', message, details, { cause });
}

function loadError(
  { name, file, freeMemory = availableMemory }: LoadOptions,
  error: unknown,
): Error {
  if (error instanceof AgentEvalError) return error;
  const kind = error instanceof Error ? error.constructor.name : '';
  if (kind === 'InsufficientMemoryError') {
    const free = freeMemory();
    return noMemory(
      `${name} does not fit into the memory that is left (${gb(free)} free)`,
      { freeBytes: free },
      error,
    );
  }
  return new AgentEvalError(
    'local_model_invalid',
    `${file} can't be loaded: it may be damaged, or made for a newer runtime.`,
    { file },
    { cause: error },
  );
}

function gb(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
