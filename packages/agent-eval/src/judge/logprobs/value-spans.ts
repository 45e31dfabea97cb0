import { parseJson } from '../../core/json.js';
import { trimInvisible } from '../reply/find-verdict.js';
import { objectSpans, type Span } from '../reply/spans.js';
import { isObject } from '../reply/unwrap.js';

/** So many objects at the end of a text are looked at. */
const MOST_OBJECTS = 3;

/**
 * Where the plain values of `{main: {id: value}}` stand in a text that holds such an object as JSON, by id;
 * of a string what is between its quotes. Empty where there is none.
 */
export function valueSpans(text: string, main: string): Map<string, Span> {
  const found = jsonSpan(text, main);
  return found === null ? new Map() : memberSpans(text, found, main);
}

/** The whole text where it is JSON, else the last object in it that is. */
function jsonSpan(text: string, main: string): Span | null {
  const holds = (json: string): boolean => {
    const value = parseJson(json);
    return isObject(value) && Object.hasOwn(value, main);
  };
  const trimmed = trimInvisible(text);
  if (holds(trimmed)) {
    const start = text.indexOf(trimmed);
    return { start, end: start + trimmed.length };
  }
  const last = objectSpans(text, 'json').closed.slice(-MOST_OBJECTS).reverse();
  return last.find(({ start, end }) => holds(text.slice(start, end))) ?? null;
}

/** What is open around a place in JSON. */
interface Frame {
  list: boolean;
  /** Key whose value is read. */
  key: string | null;
}

/** Reads JSON once; of a repeated key the last counts, as for JSON.parse. */
function memberSpans(text: string, { start, end }: Span, main: string): Map<string, Span> {
  const spans = new Map<string, Span>();
  const open: Frame[] = [];
  let keyNext = false;
  const value = (from: number, to: number): void => {
    const [root, inner] = open;
    if (open.length !== 2 || root?.key !== main || inner?.key == null) return;
    spans.set(inner.key, { start: from, end: to });
  };
  for (let at = start; at < end; ) {
    const from = at;
    const character = text.charAt(at);
    const top = open.at(-1);
    at += 1;
    if (character === '{' || character === '[') {
      if (open.length === 1 && top?.key === main) spans.clear();
      open.push({ list: character === '[', key: null });
      keyNext = character === '{';
    } else if (character === '}' || character === ']') {
      open.pop();
      keyNext = false;
    } else if (character === ',') {
      keyNext = top?.list === false;
    } else if (character === '"') {
      at = stringEnd(text, from);
      if (keyNext && top !== undefined) top.key = JSON.parse(text.slice(from, at)) as string;
      else value(from + 1, at - 1);
      keyNext = false;
    } else if (!/[\s:]/.test(character)) {
      while (at < end && !/[\s,}\]]/.test(text.charAt(at))) at += 1;
      value(from, at);
    }
  }
  return spans;
}

/** The place after the closing quote. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charAt(at) !== '"') at += text.charAt(at) === '\\' ? 2 : 1;
  return at + 1;
}
