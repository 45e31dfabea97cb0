/** The part of node-llama-cpp that we use; described here because it is an optional peer. */
export type Token = number;

export interface LlamaTextLike {
  values: readonly unknown[];
  tokenize(tokenizer: Tokenizer): Token[];
}

export type Tokenizer = (text: string, specialTokens?: boolean) => Token[];

/** What to say about the token that follows. */
export interface GenerateNext {
  probabilities: true;
  options: { temperature: number; topK: number; topP: number; minP: number };
}

export interface Sequence {
  nextTokenIndex: number;
  clearHistory(): Promise<void>;
  evaluateWithoutGeneratingNewTokens(tokens: Token[]): Promise<void>;
  controlledEvaluate(
    tokens: (Token | [Token, { generateNext: GenerateNext }])[],
  ): Promise<(undefined | { next: { probabilities?: Map<Token, number> } })[]>;
  eraseContextTokenRanges(ranges: { start: number; end: number }[]): Promise<void>;
}

export interface LlamaContext {
  contextSize: number;
  getSequence(): Sequence;
  dispose(): Promise<void>;
}

export interface LlamaModel {
  trainContextSize: number;
  tokenizer: Tokenizer;
  tokenize: Tokenizer;
  iterateAllTokens(): Iterable<Token>;
  detokenize(tokens: Token[], specialTokens?: boolean): string;
  createContext(options: {
    contextSize: number;
    threads: number;
    sequences: 1;
  }): Promise<LlamaContext>;
  dispose(): Promise<void>;
}

export interface Llama {
  cpuMathCores: number;
  loadModel(options: {
    modelPath: string;
    loadSignal?: AbortSignal;
    vocabOnly?: boolean;
  }): Promise<LlamaModel>;
  dispose(): Promise<void>;
}

export interface LlamaRuntime {
  getLlama(options: {
    gpu: false;
    build: 'never';
    skipDownload: true;
    maxThreads: number;
    logLevel: 'error';
  }): Promise<Llama>;
  resolveChatWrapper(model: LlamaModel): {
    generateContextState(options: {
      chatHistory: (
        | { type: 'system' | 'user'; text: string }
        | { type: 'model'; response: string[] }
      )[];
    }): { contextText: LlamaTextLike };
  };
  LlamaText: (values: readonly unknown[]) => LlamaTextLike;
}
