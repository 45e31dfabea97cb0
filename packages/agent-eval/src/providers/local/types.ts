/** A local model that answers yes/no questions with token probabilities. */
export interface YesNoModel {
  /** Name of a fetched model, or of the file. */
  readonly name: string;
  describe(): Promise<{ fileSha256: string; contextSize: number }>;
  answer(
    prompt: {
      system: string;
      parts: { text: string; trusted: boolean }[];
      questions: string[];
    },
    options: { signal?: AbortSignal },
  ): Promise<{ answers: { yes: number; no: number }[]; inputTokens: number; outputTokens: number }>;
  close(): Promise<void>;
}
