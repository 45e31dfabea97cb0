import { validationError } from '@tangle-network/agent-eval-contract';
import { parseJson } from '../core/json.js';
import listed from './prices.json' with { type: 'json' };

/** US dollars for a million tokens; reasoning counts as output. */
export interface Price {
  input: number;
  output: number;
  /** For input that the provider had cached; default: as any other. */
  cachedInput?: number;
}

export interface PricedUsage {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens?: number;
}

const MILLION = 1_000_000;

/** What a call costs, where that is known: by the user's own prices, else by those a provider lists. */
export class Prices {
  readonly #own: ReadonlyMap<string, Price>;

  constructor(own: ReadonlyMap<string, Price> = new Map()) {
    this.#own = own;
  }

  /** Those that hold at an endpoint. */
  at(origin: string): PricesAt {
    // A server of one's own may use a name that a provider sells: its price counts at the provider only.
    const sold = listed.providers.find((provider) => provider.origin === origin)?.models ?? {};
    return new PricesAt([this.#own, new Map(Object.entries(sold))]);
  }
}

/** The prices of one endpoint. */
export class PricesAt {
  readonly #lists: readonly ReadonlyMap<string, Price>[];

  constructor(lists: readonly ReadonlyMap<string, Price>[]) {
    this.#lists = lists;
  }

  /** In US dollars; null, never 0, where the price is unknown. */
  cost(models: readonly string[], usage: PricedUsage): number | null {
    const price = this.price(models);
    if (price === null) return null;
    const { inputTokens, outputTokens, cachedInputTokens = 0 } = usage;
    const cached = Math.min(cachedInputTokens, inputTokens);
    const cachedPrice = price.cachedInput ?? price.input;
    const sum =
      (inputTokens - cached) * price.input + cached * cachedPrice + outputTokens * price.output;
    return sum / MILLION;
  }

  /** The price of the first of the names that has one, each also without its date; the first list comes first. */
  price(models: readonly string[]): Price | null {
    const names = models.flatMap((model) => [model, withoutDate(model)]);
    for (const list of this.#lists) {
      for (const name of names) {
        const price = list.get(name);
        if (price !== undefined) return price;
      }
    }
    return null;
  }
}

/** A name such as `gpt-4o-2024-08-06` is a dated state of a model that is sold by its plain name. */
function withoutDate(model: string): string {
  return model.replace(/-(?:20\d{2}-\d{2}-\d{2}|20\d{6})$/, '');
}

/** Reads the user's prices: an object of model names with `input`, `output` and maybe `cachedInput`. */
export function readPrices(text: string, file: string): Prices {
  const refuse = (path: string, message: string): never => {
    throw validationError(`The prices in ${file}`, [{ path, message }]);
  };
  const value = parseJson(text.replace(/^\ufeff/, ''));
  if (value === undefined) return refuse('', 'are not JSON');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse('', 'must be an object: {"MODEL": {"input": 1, "output": 2}}');
  }
  const own = Object.entries(value).map(([model, given]): [string, Price] => [
    model,
    readPrice(given, (field, message) => refuse(`${model}${field}`, message)),
  ]);
  return new Prices(new Map(own));
}

function readPrice(given: unknown, refuse: (field: string, message: string) => never): Price {
  if (typeof given !== 'object' || given === null) return refuse('', 'must be an object');
  const known = ['input', 'output', 'cachedInput'];
  const stranger = Object.keys(given).find((key) => !known.includes(key));
  if (stranger !== undefined) refuse(`.${stranger}`, `is not known: give ${known.join(', ')}`);
  const dollars = (field: string): number | undefined => {
    const amount = Object.hasOwn(given, field)
      ? (given as Record<string, unknown>)[field]
      : undefined;
    if (amount === undefined) return undefined;
    if (typeof amount === 'number' && Number.isFinite(amount) && amount >= 0) return amount;
    return refuse(`.${field}`, 'must be a number of at least 0, US dollars for a million tokens');
  };
  const input = dollars('input') ?? refuse('.input', 'is missing');
  const output = dollars('output') ?? refuse('.output', 'is missing');
  const cachedInput = dollars('cachedInput');
  return { input, output, ...(cachedInput !== undefined && { cachedInput }) };
}
