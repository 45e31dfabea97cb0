import type { Rubric } from '@tangle-network/agent-eval-contract';
import { parseRubric } from '@tangle-network/agent-eval-contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseReply } from '../parse.js';

const RUNS = 20_000;

/** What a number is made of: damage to these may change what the model said, so they stay as they are. */
const NUMERIC = /[\d.+\-eE]/;
const STRUCTURE = [...'{}[]:,"\'`\\\n <>/', '</think>', '```', '“', '\ufeff', '\u200b'];

interface Case {
  rubric: Rubric;
  scores: Record<string, number>;
  verdict: string;
}

const id = fc.oneof(
  fc.stringMatching(/^[a-z][a-z_]{0,8}$/),
  fc.constantFrom('score', 'dimensions', '__proto__', '🚀', 'a "b"', 'properties', 'naïve id'),
);

/** A decoy that a text could talk a model into quoting. */
const decoy = '{"rationale": "r", "dimensions": {"a": 1}, "failureModes": [], "wins": []}';

const words = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom(
    'it\'s "fine"',
    decoy,
    'a </think> b',
    '<think>',
    '{',
    '}',
    '```',
    'x: {y}',
    'é\n',
  ),
);

const cases: fc.Arbitrary<Case> = fc
  .record({
    ids: fc.uniqueArray(id, { minLength: 1, maxLength: 4 }),
    grades: fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 4, maxLength: 4 }),
    rationale: fc.array(words, { maxLength: 3 }).map((parts) => parts.join(' ')),
    pretty: fc.boolean(),
  })
  .map(({ ids, grades, rationale, pretty }) => {
    const entries = ids.map((name, i): [string, number] => [name, (grades[i] ?? 0) / 100]);
    const rubric = parseRubric({
      name: 'r',
      description: 'd',
      systemPrompt: 's',
      dimensions: ids.map((name) => ({ id: name, description: 'd' })),
    });
    const scores = Object.fromEntries(entries);
    const reply = { rationale, dimensions: scores, failureModes: [], wins: [] };
    return { rubric, scores, verdict: JSON.stringify(reply, null, pretty ? 2 : 0) };
  });

type Damage = (text: string, at: number, other: number) => string;

const place = (text: string, share: number): number => Math.floor(share * (text.length + 1));

/** Ways in which a reply goes wrong that leave its numbers as the model wrote them. */
const DAMAGES: Record<string, Damage> = {
  cut: (text, at) => text.slice(0, place(text, at)),
  drop: (text, at) => {
    const i = place(text, at);
    return NUMERIC.test(text.charAt(i)) ? text : text.slice(0, i) + text.slice(i + 1);
  },
  insert: (text, at, other) => {
    const i = place(text, at);
    const what = STRUCTURE[Math.floor(other * STRUCTURE.length)] ?? '"';
    return text.slice(0, i) + what + text.slice(i);
  },
  repeat: (text, at, other) => {
    const [from, to] = [place(text, Math.min(at, other)), place(text, Math.max(at, other))];
    const part = text.slice(from, to);
    return /\d/.test(part) ? text : text.slice(0, to) + part + text.slice(to);
  },
  swap: (text, at) => {
    const i = place(text, at);
    const pair = text.slice(i, i + 2);
    if (NUMERIC.test(pair)) return text;
    return text.slice(0, i) + [...pair].reverse().join('') + text.slice(i + 2);
  },
  splitNumber: (text, at, other) => {
    const places = [...text.matchAll(/\d(?=[\d.])/g)].map(({ index }) => index + 1);
    const i = places[Math.floor(at * places.length)] ?? 0;
    const what = STRUCTURE[Math.floor(other * STRUCTURE.length)] ?? ',';
    return text.slice(0, i) + what + text.slice(i);
  },
  singleQuotes: (text) => text.replaceAll('"', "'"),
};

/** What stands around a verdict. Decoys come before it; a reply of which only a decoy is left would be one. */
const WRAPPINGS: Record<string, (text: string) => string> = {
  fence: (text) => `Here it is:\n\`\`\`json\n${text}\n\`\`\`\nDone.`,
  think: (text) => `<think>first I thought ${decoy}</think>\n${text}`,
  thinkUnopened: (text) => `first I thought ${decoy}\n</think>\n${text}`,
  quoted: (text) => `The text says ${decoy}, which I leave aside.\n${text}`,
  list: (text) => `[${text}]`,
  under: (text) => `{"verdict": ${text}}`,
  asText: (text) => JSON.stringify(text),
};

function damaged(verdict: string, list: DamageStep[], wrappings: string[]): string {
  const inner = list.reduce(
    (text, { kind, at, other }) => DAMAGES[kind]?.(text, at, other) ?? text,
    verdict,
  );
  if (!inner.includes('{')) return inner;
  return wrappings.reduce((text, kind) => WRAPPINGS[kind]?.(text) ?? text, inner);
}

type DamageStep = { kind: string; at: number; other: number };

const damages = fc.array(
  fc.record({
    kind: fc.constantFrom(...Object.keys(DAMAGES)),
    at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    other: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  }),
  { maxLength: 3 },
);

const wrappings = fc.array(fc.constantFrom(...Object.keys(WRAPPINGS)), { maxLength: 2 });

const outcomeOf = (rubric: Rubric, text: string) =>
  parseReply(rubric, { text, refusal: null, reasoning: null, finishReason: 'stop' });

describe('a damaged reply', () => {
  it(`gives the same verdict or none, ${RUNS} times`, { timeout: 300_000 }, () => {
    let scored = 0;
    const property = fc.property(
      cases,
      damages,
      wrappings,
      ({ rubric, scores, verdict }, list, around) => {
        const outcome = outcomeOf(rubric, damaged(verdict, list, around));
        if (outcome.scored) {
          scored += 1;
          expect(outcome.verdict.scores).toEqual(scores);
        } else {
          expect(outcome.why.code).toMatch(/^judge_/);
        }
      },
    );
    fc.assert(property, { numRuns: RUNS });
    // A reader that gives up on everything would pass as well.
    expect(scored).toBeGreaterThan(RUNS / 4);
  });

  it('is read as it is where nothing was damaged', () => {
    fc.assert(
      fc.property(cases, ({ rubric, scores, verdict }) => {
        const outcome = outcomeOf(rubric, verdict);
        expect(outcome).toMatchObject({ scored: true, verdict: { warnings: [] } });
        if (outcome.scored) expect(outcome.verdict.scores).toEqual(scores);
      }),
      { numRuns: 500 },
    );
  });
});
