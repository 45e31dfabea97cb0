import { describe, expect, it, vi } from 'vitest';
import { type Clock, systemClock } from '../../core/clock.js';
import { LlamaYesNo, type LlamaYesNoOptions } from './llama-yes-no.js';
import type { YesNoPrompt } from './types.js';

// A runtime in plain JavaScript: a token is a character, and the last character decides the answer.

const TRAIN_CONTEXT = 20_000;

class FakeMemoryError extends Error {}
Object.defineProperty(FakeMemoryError, 'name', { value: 'InsufficientMemoryError' });

interface Script {
  /** Called before each piece of the shared start. */
  onPrefix?: (tokens: number[]) => Promise<void> | void;
  onQuestion?: () => Promise<void> | void;
  onContext?: (size: number) => void;
  onLoad?: () => Promise<void> | void;
}

function fakeRuntime(script: Script = {}) {
  const counts = { loads: 0, disposals: 0, erased: 0 };
  const contexts: number[] = [];
  const tokenize = (text: string): number[] => [...text].map((c) => c.charCodeAt(0));
  const model = {
    trainContextSize: TRAIN_CONTEXT,
    tokenizer: tokenize,
    tokenize,
    *iterateAllTokens() {
      for (const token of [1, 2, 3]) yield token;
    },
    detokenize: ([token]: number[]) => ({ 1: ' Yes', 2: 'no', 3: 'maybe' })[token ?? 0] ?? '',
    async createContext({ contextSize }: { contextSize: number }) {
      script.onContext?.(contextSize);
      contexts.push(contextSize);
      return { contextSize, getSequence: sequence, dispose: async () => {} };
    },
  };
  const sequence = () => {
    const own = {
      nextTokenIndex: 0,
      async clearHistory() {
        own.nextTokenIndex = 0;
      },
      async evaluateWithoutGeneratingNewTokens(tokens: number[]) {
        await script.onPrefix?.(tokens);
        own.nextTokenIndex += tokens.length;
      },
      async controlledEvaluate(tokens: unknown[]) {
        await script.onQuestion?.();
        own.nextTokenIndex += tokens.length;
        const probabilities = new Map([
          [1, 0.6],
          [2, 0.3],
          [3, 0.1],
        ]);
        return tokens.map((_, i) =>
          i === tokens.length - 1 ? { next: { probabilities } } : undefined,
        );
      },
      async eraseContextTokenRanges([range]: { start: number; end: number }[]) {
        counts.erased += 1;
        own.nextTokenIndex = range?.start ?? 0;
      },
    };
    return own;
  };
  const runtime = {
    async getLlama() {
      return {
        cpuMathCores: 2,
        async loadModel() {
          counts.loads += 1;
          await script.onLoad?.();
          return model;
        },
        async dispose() {
          counts.disposals += 1;
        },
      };
    },
    resolveChatWrapper: () => ({
      generateContextState: ({ chatHistory }: { chatHistory: { text?: string }[] }) => ({
        contextText: { values: [`<${chatHistory[0]?.text}>${chatHistory[1]?.text}</>`] },
      }),
    }),
    LlamaText: (values: unknown[]) => ({ values, tokenize: () => tokenize(values.join('')) }),
  };
  return { runtime, counts, contexts };
}

function yesNo(runtime: unknown, overrides: Partial<LlamaYesNoOptions> = {}): LlamaYesNo {
  return new LlamaYesNo({
    name: 'fake',
    file: 'fake.gguf',
    bytes: 1,
    fileSha256: async () => 'f'.repeat(64),
    loadRuntime: async () => runtime,
    clock: systemClock,
    idleMs: 60_000,
    queueLimit: 10,
    threads: 0,
    freeMemory: () => 1e12,
    ...overrides,
  });
}

const prompt = (text: string, questions = ['Good?']): YesNoPrompt => ({
  system: 'sys',
  parts: [{ text, trusted: false }],
  questions,
});

describe('the model in memory', () => {
  it('evaluates the start once and forgets each question', async () => {
    const starts: string[] = [];
    const { runtime, counts } = fakeRuntime({
      onPrefix: (tokens) => void starts.push(String.fromCharCode(...tokens)),
    });
    const { answers, inputTokens, outputTokens } = await yesNo(runtime).answer(
      prompt('text', ['One?', 'Two?']),
    );
    expect(starts).toEqual(['<sys>text']);
    expect(answers).toEqual([
      { yes: 0.6, no: 0.3 },
      { yes: 0.6, no: 0.3 },
    ]);
    expect(counts.erased).toBe(2);
    expect({ inputTokens, outputTokens }).toEqual({ inputTokens: 9 + 2 * 7, outputTokens: 2 });
  });

  it('takes a larger context for a longer text and says the limit', async () => {
    const { runtime, contexts } = fakeRuntime();
    const model = yesNo(runtime);
    await model.answer(prompt('x'));
    await model.answer(prompt('x'.repeat(5000)));
    expect(contexts).toEqual([2048, 8192]);
    const tooLong = model.answer(prompt('x'.repeat(9000)));
    await expect(tooLong).rejects.toMatchObject({
      code: 'context_overflow',
      details: { tokens: 9013, limit: 8184 },
    });
    await expect(model.answer(prompt('x'.repeat(1_000_000)))).rejects.toMatchObject({
      code: 'context_overflow',
      details: { characters: 1_000_000 },
    });
    expect(await model.describe()).toEqual({ fileSha256: 'f'.repeat(64), contextSize: 8192 });
  });

  it('recovers when the larger context finds no memory', async () => {
    let full = true;
    const { runtime, counts } = fakeRuntime({
      onContext(size) {
        if (size > 2048 && full) throw new FakeMemoryError('no room');
      },
    });
    const model = yesNo(runtime);
    await expect(model.answer(prompt('x'.repeat(5000)))).rejects.toMatchObject({
      code: 'insufficient_memory',
    });
    full = false;
    expect((await model.answer(prompt('x'.repeat(5000)))).answers).toHaveLength(1);
    expect(counts).toMatchObject({ loads: 2, disposals: 1 });
  });

  it('looks at the signal during a long start and between questions', async () => {
    let [pieces, asked] = [0, 0];
    const controller = new AbortController();
    const { runtime } = fakeRuntime({
      onPrefix() {
        pieces += 1;
        if (pieces === 2) controller.abort(new Error('left'));
      },
      onQuestion() {
        asked += 1;
        if (asked === 1) second.abort(new Error('left again'));
      },
    });
    const second = new AbortController();
    const model = yesNo(runtime);
    const long = model.answer(prompt('x'.repeat(2000)), { signal: controller.signal });
    await expect(long).rejects.toThrow('left');
    expect(pieces).toBe(2);
    const many = model.answer(prompt('x', ['1', '2', '3']), { signal: second.signal });
    await expect(many).rejects.toThrow('left again');
    expect(asked).toBe(1);
  });

  it('frees the runtime when loading is cancelled, and loads anew for the next call', async () => {
    const controller = new AbortController();
    let first = true;
    const { runtime, counts } = fakeRuntime({
      onLoad() {
        if (!first) return;
        first = false;
        controller.abort(new Error('left'));
        throw new Error('aborted inside');
      },
    });
    const model = yesNo(runtime);
    const cancelled = model.answer(prompt('x'), { signal: controller.signal });
    await expect(cancelled).rejects.toThrow('left');
    expect(counts.disposals).toBe(1);
    expect((await model.answer(prompt('x'))).answers).toHaveLength(1);
  });

  it('says that the library does not work on this machine', async () => {
    const { runtime } = fakeRuntime();
    const broken = { ...runtime, getLlama: () => Promise.reject(new Error('NoBinaryFound')) };
    await expect(yesNo(broken).answer(prompt('x'))).rejects.toMatchObject({
      code: 'local_runtime_missing',
    });
  });

  it('refuses a chat template without a place for the user', async () => {
    const { runtime } = fakeRuntime();
    const odd = {
      ...runtime,
      resolveChatWrapper: () => ({
        generateContextState: () => ({ contextText: { values: ['nothing'] } }),
      }),
    };
    await expect(yesNo(odd).answer(prompt('x'))).rejects.toMatchObject({
      code: 'local_model_invalid',
    });
  });
});

describe('the queue', () => {
  it('answers in order, one at a time, and refuses what is too much', async () => {
    let running = 0;
    let most = 0;
    const { runtime } = fakeRuntime({
      async onQuestion() {
        running += 1;
        most = Math.max(most, running);
        await systemClock.sleep(5);
        running -= 1;
      },
    });
    const model = yesNo(runtime, { queueLimit: 2 });
    const order: number[] = [];
    const calls = [0, 1, 2].map((i) => model.answer(prompt('x')).then(() => order.push(i)));
    await expect(model.answer(prompt('x'))).rejects.toMatchObject({ code: 'overloaded' });
    const closing = model.close();
    await Promise.all([...calls, closing]);
    expect(order).toEqual([0, 1, 2]);
    expect(most).toBe(1);
  });

  it('lets a waiting caller go', async () => {
    const { runtime } = fakeRuntime({ onQuestion: () => systemClock.sleep(20) });
    const model = yesNo(runtime);
    const controller = new AbortController();
    const running = model.answer(prompt('x'));
    const waiting = model.answer(prompt('x'), { signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toThrow('stopped');
    expect((await running).answers).toHaveLength(1);
  });
});

describe('idle time', () => {
  function manualClock() {
    const timers = new Set<() => void>();
    const clock: Clock = {
      ...systemClock,
      setTimer(fn, _ms, options) {
        expect(options).toEqual({ background: true });
        timers.add(fn);
        return () => timers.delete(fn);
      },
    };
    const fire = (): void => {
      for (const timer of timers) timer();
    };
    return { clock, timers, fire };
  }

  it('unloads, and the next call loads again', async () => {
    const { runtime, counts } = fakeRuntime();
    const { clock, timers, fire } = manualClock();
    const model = yesNo(runtime, { clock });
    await model.answer(prompt('x'));
    await model.answer(prompt('x'));
    expect(timers.size).toBe(1);
    fire();
    await vi.waitFor(() => expect(counts).toMatchObject({ loads: 1, disposals: 1 }));
    await model.answer(prompt('x'));
    expect(counts.loads).toBe(2);
    await model.close();
    expect(counts.disposals).toBe(2);
    expect(timers.size).toBe(0);
  });

  it('survives a runtime that fails to unload', async () => {
    const { runtime } = fakeRuntime();
    const { clock, fire } = manualClock();
    const stuck = {
      ...runtime,
      getLlama: async () => ({
        ...(await runtime.getLlama()),
        dispose: () => Promise.reject(new Error('stuck')),
      }),
    };
    const model = yesNo(stuck, { clock });
    await model.answer(prompt('x'));
    fire();
    expect((await model.answer(prompt('x'))).answers).toHaveLength(1);
  });
});
