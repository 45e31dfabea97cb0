import type { Rubric } from '@tangle-network/agent-eval-contract';
import { beginning, cleanDeep } from '../core/text.js';
import { SCORE_SLACK } from './score.js';
import { type Outcome, unscored } from './verdict.js';

/** More text than this is not a verdict. */
const MAX_REPLY_CHARS = 1024 * 1024;

/** What the provider reported about a reply besides its text. */
export interface ReplyFacts {
  text: string;
  refusal: string | null;
  finishReason: string | null;
}

/** Reads a model's reply into a verdict, or says what is wrong with it. Never guesses a score. */
export function parseReply(rubric: Rubric, reply: ReplyFacts): Outcome {
  if (reply.refusal !== null) {
    return unscored('judge_refused', `The model refused: ${beginning(reply.refusal, 300)}`);
  }
  if (reply.finishReason === 'content_filter') {
    return unscored('judge_refused', 'The endpoint filtered the reply of the model.');
  }
  const value = reply.text.length > MAX_REPLY_CHARS ? undefined : readObject(reply.text);
  if (value !== undefined) return readVerdict(rubric, value, reply.text);
  if (reply.finishReason === 'length') {
    return unscored(
      'judge_truncated',
      'The reply of the model was cut off: raise maxTokens, or use a model that thinks less.',
      start(reply.text),
    );
  }
  const what = reply.text.trim() === '' ? 'is empty' : 'is not a JSON object';
  return unscored(
    'judge_malformed',
    `The reply of the model ${what}: use a model that follows a JSON schema.`,
    start(reply.text),
  );
}

type JsonObject = Record<string, unknown>;

/** Strict JSON first; then the same without a code fence around the whole. */
function readObject(text: string): JsonObject | undefined {
  const trimmed = trimInvisible(text);
  return strictObject(trimmed) ?? strictObject(withoutFence(trimmed));
}

const FENCE = '```';

/** What stands inside a code fence around the whole text; empty where there is none. */
function withoutFence(text: string): string {
  const start = text.indexOf('\n');
  const end = text.lastIndexOf(FENCE);
  const fenced = text.startsWith(FENCE) && text.endsWith(FENCE) && start >= 0 && start < end;
  return fenced ? text.slice(start + 1, end) : '';
}

const INVISIBLE = new Set([' ', '\t', '\r', '\n', '\u00a0', '\u200b', '\u2060', '\ufeff']);

/** Takes white space, zero-width characters and a byte-order mark off both ends, in linear time. */
function trimInvisible(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && INVISIBLE.has(text.charAt(start))) start += 1;
  while (end > start && INVISIBLE.has(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function strictObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? (cleanDeep(value) as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

function readVerdict(rubric: Rubric, value: JsonObject, text: string): Outcome {
  const given = own(value, 'dimensions');
  const read = readScores(rubric, isObject(given) ? given : {}, text);
  if ('scored' in read) return read;
  const warnings: string[] = [];
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

/** A JSON number, or a string that is a plain decimal; never a fraction, a percentage or a word. */
function readNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' ? readDecimal(trimInvisible(value)) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
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

function own(value: JsonObject, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function start(text: string): { reply: string } {
  return { reply: beginning(text, 500) };
}
