import type { LlamaModel, Token } from './runtime-types.js';

/** Sorts a model's tokens into those that say yes, those that say no, and the rest. */
export class YesNoTokens {
  readonly #kinds = new Map<Token, 'yes' | 'no' | 'other'>();
  readonly #model: LlamaModel;

  constructor(model: LlamaModel) {
    this.#model = model;
  }

  /** Probability mass on each answer, whatever its case and leading space. */
  masses(probabilities: ReadonlyMap<Token, number>): { yes: number; no: number } {
    const mass = { yes: 0, no: 0 };
    for (const [token, p] of probabilities) {
      const kind = this.#kind(token);
      if (kind !== 'other') mass[kind] += p;
    }
    return mass;
  }

  #kind(token: Token): 'yes' | 'no' | 'other' {
    const known = this.#kinds.get(token);
    if (known !== undefined) return known;
    const word = this.#model.detokenize([token], false).trim().toLowerCase();
    const kind = word === 'yes' || word === 'no' ? word : 'other';
    this.#kinds.set(token, kind);
    return kind;
  }
}
