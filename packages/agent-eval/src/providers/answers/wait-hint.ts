import { parseJson } from '../../core/json.js';
import { httpDelay, retryAfterMs, validDelay } from '../../core/retry.js';
import { member, textOf } from './error-body.js';

type Header = (name: string) => string | undefined;

const RESETS: readonly [reset: string, remaining: string][] = [
  ['x-ratelimit-reset-requests', 'x-ratelimit-remaining-requests'],
  ['x-ratelimit-reset-tokens', 'x-ratelimit-remaining-tokens'],
  ['anthropic-ratelimit-requests-reset', 'anthropic-ratelimit-requests-remaining'],
  ['anthropic-ratelimit-tokens-reset', 'anthropic-ratelimit-tokens-remaining'],
  ['anthropic-ratelimit-input-tokens-reset', 'anthropic-ratelimit-input-tokens-remaining'],
  ['anthropic-ratelimit-output-tokens-reset', 'anthropic-ratelimit-output-tokens-remaining'],
  ['x-ratelimit-reset', 'x-ratelimit-remaining'],
  ['ratelimit-reset', 'ratelimit-remaining'],
];

/** Names under which bodies say when to come back. */
const BODY_NAMES =
  /^(?:retry[_-]?after(?:[_-]?(?:ms|seconds))?|retry[_-]?delay|reset[_-]?(?:at|time|after)?|resets[_-]?at|x-ratelimit-reset)$/i;
const BODY_DEPTH = 5;
const AGAIN = /(?:try|retry) again (?:in|after) ((?:\d+(?:\.\d+)?\s*(?:ms|[dhms])\s*)+)/i;

/** How long an answer asks to be left alone; undefined when it says nothing that can be meant. */
export function waitHintMs(
  status: number,
  header: Header,
  body: string,
  nowMs: number,
): number | undefined {
  const asked = retryAfterMs(header, nowMs);
  if (asked !== undefined || status !== 429) return asked;
  return resetHeadersMs(header, nowMs) ?? bodyMs(body, nowMs);
}

/** The longest wait among the limits that are used up, or among all when none says it is. */
function resetHeadersMs(header: Header, nowMs: number): number | undefined {
  const waits: number[] = [];
  const spent: number[] = [];
  for (const [reset, remaining] of RESETS) {
    const wait = momentMs(header(reset), nowMs);
    if (wait === undefined) continue;
    waits.push(wait);
    if (Number(header(remaining) ?? Number.NaN) === 0) spent.push(wait);
  }
  const counting = spent.length > 0 ? spent : waits;
  return counting.length === 0 ? undefined : Math.max(...counting);
}

function bodyMs(body: string, nowMs: number): number | undefined {
  const root = parseJson(body);
  const named = search(root, nowMs, BODY_DEPTH);
  if (named !== undefined) return named;
  const error = member(root, 'error');
  const message = textOf(member(error, 'message') ?? member(root, 'message') ?? error);
  const said = AGAIN.exec(message.slice(0, 2000))?.[1];
  return said === undefined ? undefined : durationMs(said.replaceAll(/\s/g, ''));
}

function search(value: unknown, nowMs: number, depth: number): number | undefined {
  if (typeof value !== 'object' || value === null || depth === 0) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const found = BODY_NAMES.test(name)
      ? named(name, inner, nowMs)
      : search(inner, nowMs, depth - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function named(name: string, value: unknown, nowMs: number): number | undefined {
  const text = textOf(value);
  return /ms$/i.test(name) ? momentMs(`${text}ms`, nowMs) : momentMs(text, nowMs);
}

/** Epochs are large: from here on a number is seconds since 1970, and from there on milliseconds. */
const EPOCH_SECONDS = 1e9;
const EPOCH_MS = 1e12;

/** A duration ("6m0s", "76ms", "2"), an epoch in seconds or milliseconds, or a date, as a wait from now. */
function momentMs(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  if (text === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) {
    const number = Number(text);
    if (number >= EPOCH_MS) return validDelay(number - nowMs);
    if (number >= EPOCH_SECONDS) return validDelay(number * 1000 - nowMs);
    return validDelay(number * 1000);
  }
  return durationMs(text) ?? httpDelay(text, nowMs);
}

const UNIT_MS: Record<string, number> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

function durationMs(text: string): number | undefined {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[dhms]))+$/i.test(text)) return undefined;
  let total = 0;
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/gi)) {
    total += Number(number) * (UNIT_MS[unit?.toLowerCase() ?? ''] ?? Number.NaN);
  }
  return validDelay(total);
}
