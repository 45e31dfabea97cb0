import type { Rubric } from '@tangle-network/agent-eval-contract';
import { beginning } from '../core/text.js';
import { type Found, findVerdict, strictVerdict, trimInvisible } from './reply/find-verdict.js';
import { isObject, type JsonObject, own, SCORES, type Shape } from './reply/unwrap.js';
import { SCORE_SLACK } from './score.js';
import { type Outcome, type Unscored, unscored } from './verdict.js';

/** More text than this is not a verdict. */
const MAX_REPLY_CHARS = 1024 * 1024;

/** What the provider reported about a reply besides its text. */
export interface ReplyFacts {
  text: string;
  refusal: string | null;
  /** What a filter of the endpoint objected to. */
  categories?: Record<string, string>;
  /** What the model thought, where the endpoint tells that apart. */
  reasoning?: string | null;
  finishReason: string | null;
}

/** What is made of the object that a reply holds; `found` is what to warn of in how it was found. */
export type ReadObject<T> = (
  value: JsonObject,
  text: string,
  found: readonly string[],
) => Outcome<T>;

/** Reads a model's reply into a verdict, or says what is wrong with it. Never guesses a score. */
export function parseReply(rubric: Rubric, reply: ReplyFacts): Outcome {
  return readReply(reply, SCORES, (value, text, found) => readVerdict(rubric, value, text, found));
}

/** Finds the object of that shape in a reply and reads it, or says why there is none. */
export function readReply<T>(reply: ReplyFacts, shape: Shape, read: ReadObject<T>): Outcome<T> {
  const refused = (message: string): Unscored =>
    unscored('judge_refused', message, reply.categories && { categories: reply.categories });
  if (reply.refusal !== null) {
    return refused(`The model refused: ${beginning(reply.refusal, 300)}`);
  }
  if (reply.finishReason === 'content_filter') {
    return refused('The endpoint filtered the reply of the model.');
  }
  if (reply.text.length > MAX_REPLY_CHARS) {
    return malformed(`is longer than ${MAX_REPLY_CHARS} characters`, reply.text);
  }
  const { text, found } = verdictIn(reply, shape);
  // A reply that was cut off counts only where it is JSON as a whole all the same.
  const whole = (): boolean => strictVerdict(trimInvisible(text), shape) !== undefined;
  if (found.kind === 'cut' || (reply.finishReason === 'length' && !whole())) return truncated(text);
  switch (found.kind) {
    case 'verdict':
      return read(found.value, text, found.warnings);
    case 'several':
      return malformed('holds more than one verdict', text);
    default:
      return malformed(text.trim() === '' ? 'is empty' : 'is not a JSON object', text);
  }
}

/** Where the answer is empty, what the model thought counts if it is, as a whole, one strict verdict. */
function verdictIn({ text, reasoning }: ReplyFacts, shape: Shape): { text: string; found: Found } {
  const thought = reasoning == null ? '' : trimInvisible(reasoning);
  if (trimInvisible(text) !== '' || thought === '') {
    return { text, found: findVerdict(text, shape) };
  }
  const found = strictVerdict(thought, shape);
  if (found?.kind !== 'verdict') return { text, found: { kind: 'none' } };
  const warnings = [...found.warnings, 'the verdict stood where the model thinks, not answers'];
  return { text: thought, found: { ...found, warnings } };
}

function truncated(text: string): Unscored {
  return unscored(
    'judge_truncated',
    'The reply of the model was cut off: raise maxTokens, or use a model that thinks less.',
    start(text),
  );
}

function malformed(what: string, text: string): Unscored {
  return unscored(
    'judge_malformed',
    `The reply of the model ${what}: use a model that follows a JSON schema.`,
    start(text),
  );
}

function readVerdict(
  rubric: Rubric,
  value: JsonObject,
  text: string,
  found: readonly string[],
): Outcome {
  const given = own(value, 'dimensions');
  const read = readScores(rubric, isObject(given) ? withoutSchema(rubric, given) : {}, text);
  if ('scored' in read) return read;
  const warnings = [...found];
  const failureModes = readIds(own(value, 'failureModes'), rubric.failureModes, 'failure mode');
  const wins = readIds(own(value, 'wins'), rubric.wins, 'win');
  warnings.push(...failureModes.warnings, ...wins.warnings);
  const rationale = own(value, 'rationale');
  return {
    scored: true,
    verdict: {
      scores: read.scores,
      failureModes: failureModes.ids,
      wins: wins.ids,
      rationale: typeof rationale === 'string' ? rationale : '',
      warnings,
    },
  };
}

function readScores(
  rubric: Rubric,
  given: JsonObject,
  text: string,
): { scores: Record<string, number> } | Outcome {
  if (!rubric.dimensions.every(({ id }) => Object.hasOwn(given, id))) {
    const missing = rubric.dimensions.map(({ id }) => id).filter((id) => !Object.hasOwn(given, id));
    const names = missing.slice(0, 5).join(', ');
    return unscored('judge_incomplete', `The verdict lacks a score for ${names}.`, {
      missing,
      ...start(text),
    });
  }
  const entries: [string, number][] = [];
  for (const { id, min, max } of rubric.dimensions) {
    const score = readNumber(own(given, id));
    if (score === undefined) {
      return unscored('judge_malformed', `The score for ${id} is not a number.`, {
        dimension: id,
        ...start(text),
      });
    }
    if (!(score >= min - SCORE_SLACK && score <= max + SCORE_SLACK)) {
      return unscored('judge_out_of_range', `The score for ${id} lies outside ${min} to ${max}.`, {
        dimension: id,
        ...start(text),
      });
    }
    entries.push([id, Math.min(max, Math.max(min, score))]);
  }
  return { scores: Object.fromEntries(entries) };
}

const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
/** No score needs more characters than this. */
const MAX_NUMBER_CHARS = 64;

/** Scores that a model put into the schema it was shown, instead of beside it. */
function withoutSchema(rubric: Rubric, given: JsonObject): JsonObject {
  const filled = own(given, 'properties');
  const declared = rubric.dimensions.some(({ id }) => Object.hasOwn(given, id));
  return isObject(filled) && !declared ? filled : given;
}

/** Words that may stand beside a score inside an object. */
const BESIDE_SCORE = new Set(['reason', 'reasoning', 'rationale', 'explanation', 'justification']);

/** A JSON number, or a string that is a plain decimal; never a fraction, a percentage or a word. */
function readNumber(given: unknown): number | undefined {
  const value = isObject(given) ? scoreInside(given) : given;
  const number = typeof value === 'string' ? readDecimal(trimInvisible(value)) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** The score of `{"score": 4, "reason": "…"}`; anything else beside it could change what the number means. */
function scoreInside(given: JsonObject): unknown {
  const plain = Object.keys(given).every((key) => key === 'score' || BESIDE_SCORE.has(key));
  return plain ? own(given, 'score') : undefined;
}

function readDecimal(text: string): number | undefined {
  return text.length <= MAX_NUMBER_CHARS && DECIMAL.test(text) ? Number(text) : undefined;
}

function readIds(
  given: unknown,
  declared: readonly { id: string }[],
  what: string,
): { ids: string[]; warnings: string[] } {
  const named = Array.isArray(given) ? given.filter((id) => typeof id === 'string') : [];
  if (named.length === 0) return { ids: [], warnings: [] };
  const known = new Set(declared.map((entry) => entry.id));
  const unknown = [...new Set(named)].filter((id) => !known.has(id));
  return {
    ids: [...known].filter((id) => named.includes(id)),
    warnings: unknown.map((id) => `unknown ${what} left out: ${beginning(id, 100)}`),
  };
}

/** The beginning of a reply, for the details of an error. */
export function start(text: string): { reply: string } {
  return { reply: beginning(text, 500) };
}
