import type { LlamaModel, Token } from './runtime-types.js';

/** The tokens of a model that say yes or no, whatever their case and the space around them. */
export class YesNoTokens {
  readonly #yes: readonly Token[];
  readonly #no: readonly Token[];

  constructor(model: LlamaModel) {
    const found: Record<string, Token[]> = { yes: [], no: [] };
    for (const token of model.iterateAllTokens()) {
      const word = model.detokenize([token], false);
      // Most of a vocabulary is longer: looking at the length first saves the rest of the work.
      if (word.length < 8) found[word.trim().toLowerCase()]?.push(token);
    }
    this.#yes = found.yes ?? [];
    this.#no = found.no ?? [];
  }

  /** Probability mass on each answer. */
  masses(probabilities: ReadonlyMap<Token, number>): { yes: number; no: number } {
    const mass = (tokens: readonly Token[]): number =>
      tokens.reduce((sum, token) => sum + (probabilities.get(token) ?? 0), 0);
    return { yes: mass(this.#yes), no: mass(this.#no) };
  }
}
