import { parseJson } from '../../core/json.js';
import { cleanDeep } from '../../core/text.js';
import { mend } from './mend.js';
import { withoutReasoning } from './reasoning.js';
import { repeatedKeys } from './repeated-keys.js';
import { objectSpans, type Span, type Spans } from './spans.js';
import { type JsonObject, looksLike, SCORES, type Shape, unwrap } from './unwrap.js';

/** What a reply holds. `cut`: it ended before its verdict did. `several`: more than one could be meant. */
export type Found =
  | { kind: 'verdict'; value: JsonObject; warnings: string[] }
  | { kind: 'cut' }
  | { kind: 'several' }
  | { kind: 'none' };

/**
 * Finds the verdict in a reply: the whole text where it is JSON, else the last object after the reasoning
 * that looks like a verdict, mended where it must be. Every step reads the text a fixed number of times.
 */
export function findVerdict(text: string, shape: Shape = SCORES): Found {
  const trimmed = trimInvisible(text);
  return (
    strictVerdict(trimmed, shape) ?? looseVerdict(trimInvisible(withoutReasoning(trimmed)), shape)
  );
}

/** The verdict of a text that is JSON as a whole; undefined where it is not. */
export function strictVerdict(text: string, shape: Shape = SCORES): Found | undefined {
  const value = parseJson(text);
  if (value === undefined) return undefined;
  if (typeof value !== 'object' && typeof value !== 'string') return { kind: 'none' };
  return fromValue(value, text, [], shape);
}

function looseVerdict(text: string, shape: Shape): Found {
  if (!text.includes('{')) return { kind: 'none' };
  const whole = strictVerdict(text, shape);
  if (whole !== undefined) return whole;
  for (const quotes of ['json', 'line'] as const) {
    const found = lastVerdict(text, objectSpans(text, quotes), shape);
    if (found !== null) return found;
  }
  const end = text.lastIndexOf('}') + 1;
  const start = text.indexOf('{');
  return mendedVerdict(text.slice(start, end > start ? end : undefined), shape) ?? { kind: 'none' };
}

/** So many broken objects at the end of a reply are mended; who writes more does not answer with a verdict. */
const MOST_MENDED = 3;

function lastVerdict(text: string, { closed, open, stray }: Spans, shape: Shape): Found | null {
  const another = new RegExp(`${shape.main}\\W{0,3}:`);
  let mended = 0;
  for (const span of closed.toReversed()) {
    const part = text.slice(span.start, span.end);
    let found = strictVerdict(part, shape);
    if (found === undefined && mended++ < MOST_MENDED)
      found = mendedVerdict(part, shape) ?? undefined;
    if (found === undefined || found.kind === 'none') continue;
    if (found.kind === 'verdict' && !looksLike(found.value, shape)) continue;
    if (open.some((at) => leavesOpen(text, at, span))) return { kind: 'cut' };
    // What follows may be the ruins of the verdict that was meant.
    const ruins = stray.some((at) => at >= span.end) || another.test(text.slice(span.end));
    return ruins ? { kind: 'several' } : found;
  }
  return null;
}

/** Whether a brace that never closes began another verdict, or one around this; a stray one in prose did not. */
function leavesOpen(text: string, at: number, { end }: Span): boolean {
  return at >= end || /^\{\s*["']/.test(text.slice(at, at + 100));
}

function mendedVerdict(text: string, shape: Shape): Found | null {
  const mended = mend(text);
  if (mended.kind === 'cut') return { kind: 'cut' };
  if (mended.kind === 'hopeless') return null;
  const value = parseJson(mended.json);
  if (typeof value !== 'object' || value === null) return null;
  const found = fromValue(
    value,
    mended.json,
    ['the reply was not quite JSON and was mended'],
    shape,
  );
  return found.kind === 'verdict' && !looksLike(found.value, shape) ? null : found;
}

function fromValue(value: unknown, json: string, warnings: string[], shape: Shape): Found {
  const inner = unwrap(value, shape);
  if (inner === null) return { kind: Array.isArray(value) || isText(value) ? 'none' : 'several' };
  const cleaned = clean(inner.verdict);
  if (cleaned === undefined) return { kind: 'none' };
  const all = [...warnings];
  if (inner.wrapped) all.push('the verdict was wrapped in something else');
  for (const key of repeatedKeys(json).slice(0, 5)) {
    all.push(`repeated key, of which the last counts: ${key.slice(0, 100)}`);
  }
  return { kind: 'verdict', value: cleaned, warnings: all };
}

const isText = (value: unknown): boolean => typeof value === 'string';

function clean(value: JsonObject): JsonObject | undefined {
  try {
    return cleanDeep(value) as JsonObject;
  } catch {
    return undefined;
  }
}

const INVISIBLE = new Set([' ', '\t', '\r', '\n', '\u00a0', '\u200b', '\u2060', '\ufeff']);

/** Takes white space, zero-width characters and a byte-order mark off both ends, in linear time. */
export function trimInvisible(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && INVISIBLE.has(text.charAt(start))) start += 1;
  while (end > start && INVISIBLE.has(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}
