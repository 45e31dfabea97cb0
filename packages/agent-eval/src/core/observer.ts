/** What is known of a judgement when it ends. */
export interface JudgementFacts {
  composite: number;
  rationale: string;
  cached: boolean;
}

/** What is known of a provider's reply, all its requests together. */
export interface ReplyFacts {
  usage: { inputTokens: number; outputTokens: number } | null;
  /** Null when the price is unknown. */
  costUsd: number | null;
  attempts: number;
}

/** Looks on while the engine works: each function runs the work and passes on what it gives or throws. */
export interface Observer {
  judgement<T extends JudgementFacts>(rubric: string, work: () => Promise<T>): Promise<T>;
  reply<T extends ReplyFacts>(model: string, work: () => Promise<T>): Promise<T>;
}

/** One observer around another, where there are two. */
export function both(outer: Observer, inner: Observer | undefined): Observer {
  if (inner === undefined) return outer;
  return {
    judgement: (rubric, work) => outer.judgement(rubric, () => inner.judgement(rubric, work)),
    reply: (model, work) => outer.reply(model, () => inner.reply(model, work)),
  };
}
