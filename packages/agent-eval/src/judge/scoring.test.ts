import { parseRubric, type Rubric } from '@tangle-network/agent-eval-contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import compositeCases from '../../../../tests/vectors/composite.json' with { type: 'json' };
import replyCases from '../../../../tests/vectors/replies.json' with { type: 'json' };
import hashCases from '../../../../tests/vectors/rubric-hash.json' with { type: 'json' };
import { cleanDeep } from '../core/text.js';
import { rubricVersion } from '../rubrics/version.js';
import { parseReply } from './parse.js';
import { composite, passesGate } from './score.js';

const rubricOf = (dimensions: unknown): Rubric =>
  parseRubric({ name: 'q', description: 'd', systemPrompt: 's', dimensions });

describe('composite', () => {
  it.each(compositeCases)('$name', ({ dimensions, scores, composite: expected }) => {
    const given = scores as unknown as Record<string, number>;
    expect(composite(rubricOf(dimensions), given)).toBeCloseTo(expected, 12);
  });

  it('lies between 0 and 1 whatever the scales and weights', () => {
    const dimension = fc.record({
      weight: fc.double({ min: 1e-6, max: 1e6, noNaN: true }),
      min: fc.double({ min: -1e6, max: 1e6, noNaN: true }),
      width: fc.double({ min: 1e-3, max: 1e6, noNaN: true }),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(dimension, { minLength: 1, maxLength: 6 }), (given) => {
        const rows = given.map(({ weight, min, width }, i) => ({
          id: `d${i}`,
          description: '',
          weight,
          min,
          max: min + width,
        }));
        const scores = given.map(({ min, width, at }, i) => [`d${i}`, min + at * width]);
        const value = composite(rubricOf(rows), Object.fromEntries(scores));
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('passes a gate at the gate, whatever rounding did', () => {
    expect(passesGate(0.5, 0.5)).toBe(true);
    const twoDimensions = rubricOf([
      { id: 'a', description: '' },
      { id: 'b', description: '' },
    ]);
    expect(passesGate(composite(twoDimensions, { a: 0.1, b: 0.2 }), 0.15)).toBe(true);
    expect(passesGate(0.4999, 0.5)).toBe(false);
  });
});

describe('rubric version', () => {
  it.each(hashCases)('$name', ({ rubric, rubricVersion: expected }) => {
    expect(rubricVersion(parseRubric(cleanDeep(rubric)))).toBe(expected);
  });
});

interface ReplyCase {
  name: string;
  text: string;
  finishReason: string;
  refusal?: string;
  reasoning?: string;
  id?: string;
  max?: number;
  quality?: number;
  code?: string;
  warnings?: number;
}

describe('reading a reply', () => {
  it.each(replyCases as ReplyCase[])('$name', (example) => {
    const id = example.id ?? 'quality';
    const rubric = rubricOf([{ id, description: '', max: example.max ?? 1 }]);
    const outcome = parseReply(rubric, {
      text: example.text,
      refusal: example.refusal ?? null,
      reasoning: example.reasoning ?? null,
      finishReason: example.finishReason,
    });
    if (example.code !== undefined) {
      expect(outcome).toMatchObject({ scored: false, why: { code: example.code } });
      return;
    }
    expect(outcome).toMatchObject({ scored: true });
    if (!outcome.scored) return;
    expect(Object.entries(outcome.verdict.scores)).toEqual([[id, example.quality]]);
    expect(outcome.verdict.warnings).toHaveLength(example.warnings ?? 0);
  });
});

describe('hostile replies', () => {
  const rubric = rubricOf([{ id: 'quality', description: '' }]);
  const read = (text: string) => parseReply(rubric, { text, refusal: null, finishReason: 'stop' });

  // Each took seconds to minutes with patterns that look back; a linear reader needs milliseconds.
  it.each([
    ['white space inside', `x${' '.repeat(500_000)}x`],
    ['white space at the end', `x${'\n'.repeat(500_000)}`],
    ['a fence and newlines', `\`\`\`json\n${'\n'.repeat(500_000)}x`],
    ['digits', `{"dimensions":{"quality":"${'1'.repeat(500_000)}x"}}`],
    ['open braces', '{'.repeat(500_000)],
    ['objects without end', '{"dimensions":{"a":'.repeat(30_000)],
    ['small broken objects', "{'rationale' 1} ".repeat(60_000)],
    ['open quotes', `{'a': ${"'".repeat(500_000)}`],
    ['space after a colon', `{'dimensions': {'quality':${' '.repeat(500_000)}x}}`],
    ['colons and spaces', `{'dimensions': ${':    '.repeat(150_000)}}`],
    ['think tags', '<think></think>'.repeat(60_000)],
    ['open lists', `{"dimensions": ${'['.repeat(500_000)}`],
    ['dots in a score', `{"dimensions":{"quality":"${'1.'.repeat(250_000)}"}}`],
  ])('%s are read in linear time', { timeout: 2_000 }, (_name, text) => {
    expect(read(text).scored).toBe(false);
  });
});
