import type { ErrorCode } from '@tangle-network/agent-eval-contract';
import { beginning } from '../core/text.js';

/** What an unusable answer of an endpoint means. */
export interface ProviderFailure {
  code: ErrorCode;
  message: string;
  /** Whether the same request may be sent again. */
  retry: boolean;
}

interface ErrorFields {
  message: string;
  code: string;
  type: string;
}

const QUOTA =
  /insufficient_quota|billing.hard.limit|quota[ _]exceeded|exceeded your current quota|credit balance/i;
const RATE_LIMIT = /rate_?limit/i;
/** Longest part of a message that is searched for its meaning. */
const SEARCHED = 2000;
const OVERFLOW =
  /context[ _]length|maximum context|context window|too many tokens|prompt is too long/i;
const FILTER = /content_filter|content_policy|responsible_?ai/i;
const NO_MODEL =
  /model[ _]not[ _]found|model .*does(?: not|n't) exist|unknown model|no such model/i;

/** Decides what a status other than 2xx, or an error body with status 200, means. */
export function classifyFailure(status: number, body: string): ProviderFailure {
  const fields = errorFields(body);
  const said = `${fields.code} ${fields.type} ${fields.message}`.slice(0, SEARCHED);
  const limited = RATE_LIMIT.test(`${fields.code} ${fields.type}`);
  const quota = status === 402 || (QUOTA.test(said) && !limited);
  const reason = fields.message === '' ? '' : `: ${beginning(fields.message, 300)}`;
  const final = (code: ErrorCode, message: string): ProviderFailure => ({
    code,
    message: `${message}${reason}`,
    retry: false,
  });
  if (quota && (status === 429 || status === 402 || status === 403)) {
    return final('quota_exhausted', `quota or billing (status ${status})`);
  }
  if (status === 429) {
    return { code: 'rate_limited', message: `rate limit (status 429)${reason}`, retry: true };
  }
  if (status === 401 || status === 403) {
    return final('provider_auth', `the endpoint refused the key (status ${status})`);
  }
  if (OVERFLOW.test(said)) {
    return final('context_overflow', 'the content does not fit the model');
  }
  if (FILTER.test(said)) {
    return final('judge_refused', 'the endpoint filtered the content');
  }
  if (NO_MODEL.test(said)) {
    return final('model_not_found', `the endpoint does not know the model (status ${status})`);
  }
  if (status === 404) {
    return final('model_not_found', 'no such model or no such path (status 404)');
  }
  return {
    code: 'provider_error',
    message: `status ${status}${reason || htmlReason(body)}`,
    retry: status >= 500 || status === 408 || status === 425 || status === 200,
  };
}

/** The error an OpenAI-compatible body carries, or undefined when it carries none. */
export function embeddedError(body: unknown): { status: number } | undefined {
  if (typeof body !== 'object' || body === null || !('error' in body)) return undefined;
  const { error } = body;
  if (error === null || error === undefined) return undefined;
  const code = typeof error === 'object' && 'code' in error ? Number(error.code) : Number.NaN;
  return { status: Number.isInteger(code) && code >= 400 && code < 600 ? code : 200 };
}

function errorFields(body: string): ErrorFields {
  const empty = { message: '', code: '', type: '' };
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return empty;
  }
  const root = Array.isArray(value) ? value[0] : value;
  const error = member(root, 'error') ?? root;
  if (typeof error === 'string') return { ...empty, message: error };
  return {
    message: textOf(member(error, 'message') ?? member(root, 'message') ?? member(root, 'detail')),
    code: textOf(member(error, 'code')),
    type: textOf(member(error, 'type')),
  };
}

function member(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function htmlReason(body: string): string {
  const text = body.trim();
  if (text === '') return ' without a body';
  return text.startsWith('<') ? ' with an HTML page' : `: ${beginning(text, 200)}`;
}
