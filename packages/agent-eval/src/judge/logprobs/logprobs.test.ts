import { parseRubric, type RubricDimension } from '@tangle-network/agent-eval-contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TokenPlace } from '../../providers/types.js';
import type { YesNo } from '../checks/scoring.js';
import { expectedNumber } from './expected.js';
import { fromGrade, graded, gradesOf } from './grades.js';
import { likelyAnswers } from './likely-answers.js';
import { placedValues } from './token-text.js';
import { valueSpans } from './value-spans.js';

/** A place with the token that was written and the probabilities of what could have been. */
function place(token: string, top: Record<string, number> = { [token]: 1 }): TokenPlace {
  const list = Object.entries(top).map(([name, p]) => ({ token: name, logprob: Math.log(p) }));
  return { token, logprob: Math.log(top[token] ?? 0.01), top: list };
}

const TEN = { min: 0, max: 10 };

describe('the expected number', () => {
  const END = place('}');

  it.each<[string, TokenPlace[], number | null]>([
    ['one sure digit', [place('7'), END], 7],
    ['a mean of digits', [place('7', { 7: 0.6, 8: 0.3, 6: 0.1 }), END], 7.2],
    ['numbers only, made whole', [place('7', { 7: 0.6, 9: 0.2, '"': 0.2 }), END], 7.5],
    ['a space before the digit', [place(' 7', { ' 7': 0.5, ' 9': 0.5 }), END], 8],
    ['spaces in some of the tokens', [place(' 7', { ' 7': 0.5, 9: 0.5 }), END], 8],
    ['a quote and a colon before', [place('":"7', { '":"7': 0.5, '":"9': 0.5 }), END], 8],
    ['what follows in the same token', [place('7,', { '7,': 0.5, '9}': 0.5 })], 8],
    ['ten as two tokens', [place('1'), place('0'), END], 10],
    ['ten as one token', [place('10', { 10: 0.5, 9: 0.3, 1: 0.2 }), END], 7.9],
    ['ten or one', [place('1'), place('0', { 0: 0.75, '}': 0.25 }), END], 7.75],
    ['one that might have been ten', [place('1'), place('}', { 0: 0.25, '}': 0.75 })], 3.25],
    ['not a one that may begin ten', [place('8', { 8: 0.5, 9: 0.25, 1: 0.25 }), END], 25 / 3],
    ['a one where ten is a token', [place('8', { 8: 0.5, 1: 0.25, 10: 0.25 }), END], 6.75],
    ['the end of the reply', [place('7')], 7],
    [
      'a token left out of the likeliest',
      [place('2', { 7: 0.9 }), END],
      (7 * 0.9 + 2 * 0.01) / 0.91,
    ],
    ['no number at all', [place('7', { '"': 0.5, seven: 0.5 }), END], null],
    ['no likeliest tokens', [{ token: '7', logprob: 0, top: [] }, END], null],
    ['numbers off the scale', [place('7', { 77: 0.9, 7: 0.1 }), END], null],
    ['decimals', [place('7', { 7: 1 }), place('.'), place('5'), END], null],
    ['a percentage', [place('7%', { '7%': 1 }), END], null],
    ['a leading zero', [place('0'), place('7'), END], null],
    ['mostly something else', [place('7', { 7: 0.3, '-': 0.7 }), END], null],
  ])('of %s', (_name, places, value) => {
    const expected = expectedNumber(places, 0, TEN);
    if (value === null) expect(expected).toBeNull();
    else expect(expected).toBeCloseTo(value, 10);
  });

  it('counts a one where nothing on the scale is longer', () => {
    const places = [place('4', { 4: 0.5, 1: 0.5 }), END];
    expect(expectedNumber(places, 0, { min: 1, max: 5 })).toBeCloseTo(2.5, 12);
  });

  it('stays on the scale whatever the tokens are', () => {
    const token = fc.oneof(fc.integer({ min: 0, max: 120 }).map(String), fc.string());
    const likely = fc.dictionary(token, fc.double({ min: 0.01, max: 1, noNaN: true }));
    fc.assert(
      fc.property(fc.array(fc.tuple(token, likely), { minLength: 1 }), (written) => {
        const places = written.map(([own, top]) => place(own, { ...top, [own]: 0.9 }));
        const value = expectedNumber(places, 0, TEN);
        if (value !== null) expect(value >= 0 && value <= 10).toBe(true);
      }),
    );
  });
});

describe('where values stand', () => {
  const at = (text: string, main = 'dimensions') =>
    Object.fromEntries(
      [...valueSpans(text, main)].map(([id, { start, end }]) => [id, text.slice(start, end)]),
    );

  it.each([
    ['plain', '{"rationale": "7 of 9", "dimensions": {"a": 7, "b": "9"}}', { a: '7', b: '9' }],
    [
      'a decoy in a string',
      '{"rationale":"\\"dimensions\\":{\\"a\\":2}","dimensions":{"a":7}}',
      { a: '7' },
    ],
    ['prose around', 'I say 2. {"dimensions": {"a": 7}} Done.', { a: '7' }],
    ['an earlier draft', '{"dimensions": {"a": 2}} no, {"dimensions": {"a": 7}}', { a: '7' }],
    [
      'repeated keys',
      '{"dimensions": {"a": 2, "b": 1}, "dimensions": {"a": 3, "a": 7}}',
      { a: '7' },
    ],
    ['the same name deeper', '{"x": {"dimensions": {"a": 2}}, "dimensions": {"a": 7}}', { a: '7' }],
    [
      'values that are not plain',
      '{"dimensions": {"a": {"score": 2}, "b": [3], "c": 7}}',
      { c: '7' },
    ],
    ['escapes in keys', '{"dimensions": {"a\\"b": 7, "\\u00e4": 8}}', { 'a"b': '7', ä: '8' }],
    ['lists before', '{"wins": ["dimensions", 2], "dimensions": {"a": 7}}', { a: '7' }],
    ['not JSON', "{'dimensions': {'a': 7}}", {}],
    ['cut off', '{"dimensions": {"a": 7', {}],
    ['no object', '7', {}],
  ])('%s', (_name, text, values) => {
    expect(at(text)).toEqual(values);
  });

  it('agrees with JSON.parse for any object', () => {
    const scalar = fc.oneof(fc.integer(), fc.string(), fc.boolean());
    const objects = fc.dictionary(fc.string(), scalar);
    fc.assert(
      fc.property(objects, fc.jsonValue(), fc.nat({ max: 3 }), (inner, beside, indent) => {
        const text = JSON.stringify({ beside, dimensions: inner }, null, indent);
        const values = Object.fromEntries(
          Object.entries(inner).map(([id, value]) => [
            id,
            typeof value === 'string' ? JSON.stringify(value).slice(1, -1) : String(value),
          ]),
        );
        expect(at(text)).toEqual(values);
      }),
    );
  });

  it('finds the token of a value however the text is cut into tokens', () => {
    const text = ' {"rationale": "2", "dimensions": {"a": 7, "b": " 10"}}';
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat({ max: text.length })), (cuts) => {
        const ends = [...cuts.sort((x, y) => x - y), text.length];
        const places = ends.map((end, i) => place(text.slice(ends[i - 1] ?? 0, end)));
        const placed = placedValues(places, 'dimensions');
        expect(placed.get('a')?.text).toBe('7');
        expect(places[placed.get('a')?.token ?? -1]?.token).toContain('7');
        expect(placed.get('b')?.text).toBe('10');
        expect(places[placed.get('b')?.token ?? -1]?.token).toContain('1');
      }),
    );
  });
});

describe('grades', () => {
  const scale = (min: number, max: number): RubricDimension => ({
    id: 'a',
    description: 'd',
    weight: 1,
    min,
    max,
  });

  it.each([
    [0, 10, { min: 0, max: 10 }],
    [1, 5, { min: 1, max: 5 }],
    [0, 2, { min: 0, max: 2 }],
    [0, 1, TEN],
    [0, 100, TEN],
    [-5, 5, TEN],
    [0.5, 5, TEN],
    [5, 25, TEN],
  ])('of %d to %d', (min, max, grades) => {
    expect(gradesOf(scale(min, max))).toEqual(grades);
    expect(fromGrade(scale(min, max), grades.min)).toBe(min);
    expect(fromGrade(scale(min, max), grades.max)).toBe(max);
    expect(fromGrade(scale(min, max), (grades.min + grades.max) / 2)).toBeCloseTo(
      (min + max) / 2,
      12,
    );
  });

  it('are asked for in the prompt and in the schema', () => {
    const rubric = parseRubric({
      name: 'r',
      description: 'd',
      systemPrompt: 's',
      dimensions: [
        { id: 'own', description: 'd', min: 1, max: 5 },
        { id: 'mapped', description: 'd', min: -1, max: 1 },
      ],
    });
    const { system, schema } = graded(rubric);
    expect(system.text).toContain('"own", a whole number from 1 to 5: d');
    expect(system.text).toContain('a whole number from 0 to 10 (0 stands for -1 and 10 for 1');
    expect(JSON.parse(schema.json).properties.dimensions.properties).toEqual({
      own: { type: 'integer', minimum: 1, maximum: 5 },
      mapped: { type: 'integer', minimum: 0, maximum: 10 },
    });
  });
});

describe('likely answers', () => {
  const YES: YesNo = { yes: 1, no: 0 };
  const reply = (answer: TokenPlace) => [place('{"answers": {"q1": "'), answer, place('"}}')];

  it('add up the spellings of yes and of no', () => {
    const top = { yes: 0.5, Yes: 0.1, ' y': 0.1, no: 0.2, ' "No': 0.05, maybe: 0.05 };
    const likely = likelyAnswers(new Map([['q1', YES]]), reply(place('yes', top)));
    expect(likely?.get('q1')?.yes).toBeCloseTo(0.7, 12);
    expect(likely?.get('q1')?.no).toBeCloseTo(0.25, 12);
  });

  it.each([
    ['no probabilities', null],
    ['no likeliest tokens', reply({ token: 'yes', logprob: 0, top: [] })],
    ['another answer than was read', reply(place('no'))],
    ['mostly other words', reply(place('yes', { yes: 0.2, maybe: 0.8 }))],
    ['tokens that spell something else', [place('Yes.')]],
  ])('are unknown with %s', (_name, places) => {
    expect(likelyAnswers(new Map([['q1', YES]]), places)).toBeNull();
  });

  it('are known for all or for none', () => {
    const answers = new Map([
      ['q1', YES],
      ['q2', YES],
    ]);
    expect(likelyAnswers(answers, reply(place('yes')))).toBeNull();
  });
});
