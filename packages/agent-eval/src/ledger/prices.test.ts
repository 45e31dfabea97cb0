import { describe, expect, it } from 'vitest';
import { Prices, readPrices } from './prices.js';

const OPENAI = 'https://api.openai.com';
const usage = { inputTokens: 1_000_000, outputTokens: 100_000 };

describe('prices', () => {
  it('count input, cached input and output', () => {
    const prices = new Prices();
    expect(prices.at(OPENAI).cost(['gpt-4o-mini'], usage)).toBeCloseTo(0.21, 12);
    const cached = { ...usage, cachedInputTokens: 400_000 };
    expect(prices.at(OPENAI).cost(['gpt-4o-mini'], cached)).toBeCloseTo(0.09 + 0.03 + 0.06, 12);
    const odd = { inputTokens: 10, outputTokens: 0, cachedInputTokens: 1_000_000 };
    expect(prices.at(OPENAI).cost(['gpt-4o-mini'], odd)).toBeCloseTo(10 * 0.075e-6, 15);
  });

  it.each([
    ['a dated state', OPENAI, 'gpt-4o-2024-08-06', 2.5],
    ['a date without dashes', 'https://api.anthropic.com', 'claude-haiku-4-5-20251001', 1],
  ])('know %s', (_name, origin, model, input) => {
    expect(new Prices().at(origin).price([model])?.input).toBe(input);
  });

  it.each([
    ['a model that nobody lists', OPENAI, 'gpt-99'],
    ['a name that only begins alike', OPENAI, 'gpt-4o-audio'],
    ['the same name at another server', 'http://127.0.0.1:8000', 'gpt-4o'],
    ['a name of every object', OPENAI, 'toString'],
    ['a version that is no date', OPENAI, 'gpt-4o-12345678'],
  ])('do not know %s', (_name, origin, model) => {
    expect(new Prices().at(origin).cost([model], usage)).toBeNull();
  });

  it('of the user count at every endpoint, before those that are listed', () => {
    const text = '\ufeff{"gpt-4o": {"input": 1, "output": 2}, "own": {"input": 0, "output": 0}}';
    const prices = readPrices(text, 'prices.json');
    expect(prices.at(OPENAI).cost(['gpt-4o'], usage)).toBeCloseTo(1.2, 12);
    expect(prices.at('http://127.0.0.1:8000').cost(['own'], usage)).toBe(0);
    expect(prices.at(OPENAI).cost(['gpt-4o-mini'], usage)).toBeCloseTo(0.21, 12);
  });

  it('of the user count first, also by the name that was reported', () => {
    const prices = readPrices('{"gpt-4o-2024-08-06": {"input": 9, "output": 0}}', 'p');
    expect(prices.at(OPENAI).price(['gpt-4o', 'gpt-4o-2024-08-06'])?.input).toBe(9);
  });

  it('take the name that was asked for before the one that was reported', () => {
    const prices = readPrices('{"asked": {"input": 1, "output": 0}}', 'p');
    expect(prices.at('http://x').cost(['asked', 'reported'], usage)).toBe(1);
    expect(prices.at('http://x').cost(['other', 'asked'], usage)).toBe(1);
  });

  it.each([
    ['no JSON', 'x', 'not JSON'],
    ['a list', '[]', 'object'],
    ['no input', '{"m": {"output": 1}}', 'm.input'],
    ['a text', '{"m": {"input": "1", "output": 1}}', 'm.input'],
    ['a negative number', '{"m": {"input": 1, "output": -1}}', 'm.output'],
    ['a field nobody knows', '{"m": {"input": 1, "output": 1, "ouput": 1}}', 'm.ouput'],
    ['null', '{"m": null}', 'm: must'],
  ])('refuse a file with %s', (_name, text, said) => {
    expect(() => readPrices(text, 'prices.json')).toThrow(said);
  });
});
