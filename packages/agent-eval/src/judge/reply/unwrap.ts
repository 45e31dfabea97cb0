import { parseJson } from '../../core/json.js';

/** A JSON object. */
export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function own(value: JsonObject, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Wrappings inside wrappings are looked into so deep. */
const MAX_DEPTH = 4;

/** Most members of a value that are looked at: a wrapping is small. */
const MAX_MEMBERS = 50;

/** What a reply is asked to hold: an object that has `main`, and beside it some of `keys`. */
export interface Shape {
  main: string;
  keys: readonly string[];
  /** Whether a value can be that of `main`, which tells an answer from a schema. */
  isMain(value: unknown): boolean;
}

/** A verdict by scores. */
export const SCORES: Shape = {
  main: 'dimensions',
  keys: ['dimensions', 'rationale', 'failureModes', 'wins'],
  isMain: isObject,
};

export function looksLike(value: JsonObject, { keys }: Shape): boolean {
  return keys.some((key) => Object.hasOwn(value, key));
}

/**
 * The verdict in a value that wraps it: a list of one, a text that is JSON, an object with the verdict under
 * a key, the schema filled in. Null where there is none, or more than one that could be meant.
 */
export function unwrap(
  value: unknown,
  shape: Shape,
): { verdict: JsonObject; wrapped: boolean } | null {
  if (isObject(value) && Object.hasOwn(value, shape.main)) {
    return { verdict: value, wrapped: false };
  }
  const found = inside(value, shape, 0);
  const [only] = found;
  if (found.length === 1 && only !== undefined) return { verdict: only, wrapped: true };
  return isObject(value) && found.length === 0 ? { verdict: value, wrapped: false } : null;
}

function inside(value: unknown, shape: Shape, depth: number): JsonObject[] {
  if (depth > MAX_DEPTH) return [];
  if (typeof value === 'string') return inside(parseJson(value), shape, depth + 1);
  if (Array.isArray(value)) {
    return value.slice(0, MAX_MEMBERS).flatMap((member) => inside(member, shape, depth + 1));
  }
  if (!isObject(value)) return [];
  if (shape.isMain(own(value, shape.main))) return [value];
  return Object.values(value)
    .slice(0, MAX_MEMBERS)
    .filter((member) => typeof member === 'object' || isJsonText(member))
    .flatMap((member) => inside(member, shape, depth + 1));
}

function isJsonText(value: unknown): boolean {
  return typeof value === 'string' && /^\s*\{/.test(value) && value.trimEnd().endsWith('}');
}
