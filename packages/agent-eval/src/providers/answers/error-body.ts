import { parseJson } from '../../core/json.js';

/** The fields of an error body that say what is wrong, whichever way an endpoint spells them. */
export interface ErrorFields {
  message: string;
  code: string;
  type: string;
  /** The parameter that the endpoint says is at fault. */
  param: string;
}

export function errorFields(body: string): ErrorFields {
  const empty = { message: '', code: '', type: '', param: '' };
  const value = parseJson(body);
  if (value === undefined) return empty;
  const root = Array.isArray(value) ? value[0] : value;
  const inChoice = member(first(member(root, 'choices')), 'error');
  const error = member(root, 'error') ?? inChoice ?? root;
  if (typeof error === 'string') return { ...empty, message: error };
  const detail = member(root, 'detail') ?? member(error, 'detail');
  const issue = first(detail);
  const message = member(error, 'message') ?? member(root, 'message') ?? detail;
  return {
    message: textOf(message) || textOf(member(issue, 'msg')),
    code: textOf(member(error, 'code')),
    type: textOf(member(error, 'type')),
    param: textOf(member(error, 'param')) || located(member(issue, 'loc')),
  };
}

/** An own member of an object. */
export function member(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** First of a list; undefined for anything else. */
export function first(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined;
}

/** Path of a validation issue without the part of the request it lies in. */
function located(loc: unknown): string {
  if (!Array.isArray(loc)) return '';
  return loc
    .filter((step) => step !== 'body')
    .map(textOf)
    .join('.');
}
