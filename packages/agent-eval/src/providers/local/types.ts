/** A prompt for yes/no questions: system, the shared start of the user message, one end for each question. */
export interface YesNoPrompt {
  system: string;
  /** Trusted parts may hold the template's special tokens; the rest is plain text whatever it says. */
  parts: { text: string; trusted: boolean }[];
  questions: string[];
}

export interface YesNoAnswers {
  /** Probability mass on yes and on no, for each question in order. */
  answers: { yes: number; no: number }[];
  inputTokens: number;
  outputTokens: number;
}

/** A local model that answers yes/no questions with token probabilities. */
export interface YesNoModel {
  /** Name of a fetched model, or of the file. */
  readonly name: string;
  describe(): Promise<{ fileSha256: string; contextSize: number }>;
  answer(prompt: YesNoPrompt, options: { signal?: AbortSignal }): Promise<YesNoAnswers>;
  close(): Promise<void>;
}
