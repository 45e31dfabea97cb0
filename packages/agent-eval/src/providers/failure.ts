import type { ErrorCode } from '@tangle-network/agent-eval-contract';
import { parseJson } from '../core/json.js';
import { beginning } from '../core/text.js';
import { errorFields, first, member, textOf } from './answers/error-body.js';

/** What an unusable answer of an endpoint means. */
export interface ProviderFailure {
  code: ErrorCode;
  message: string;
  /** Whether the same request may be sent again. */
  retry: boolean;
  details?: Record<string, unknown>;
}

const QUOTA =
  /insufficient_quota|billing.hard.limit|quota[ _]exceeded|exceeded your current quota|credit balance|credits? (?:are|is) depleted|used all available credits|spending limit/i;
/** Some endpoints call a wrong key a wrong request. */
const KEY_SAID = /api[ _]key (?:is )?(?:not valid|invalid|expired)|(?:incorrect|invalid) api key/i;
const QUOTA_STATUSES = new Set([200, 400, 402, 403, 429]);
const RATE_LIMIT = /rate_?limit/i;
const KEY = /invalid_api_key|authentication_error|unauthorized/i;
/** Longest part of a message that is searched for its meaning. */
const SEARCHED = 2000;
const OVERFLOW =
  /context[ _](?:length|size|window)|maximum context|maximum prompt length|input token count|too many tokens|prompt is too long|input is too long/i;
const FILTER = /content_filter|content_policy|responsible_?ai/i;
const NO_MODEL =
  /model[ _]not[ _]found|model .*does(?: not|n't) exist|unknown model|no such model/i;

/** Decides what a status other than 2xx, or an error body with status 200, means. */
export function classifyFailure(status: number, body: string): ProviderFailure {
  const fields = errorFields(body);
  const said = `${fields.code} ${fields.type} ${fields.message}`.slice(0, SEARCHED);
  const kind = `${fields.code} ${fields.type}`;
  const limited = RATE_LIMIT.test(kind);
  const quota = status === 402 || (QUOTA.test(said) && !limited);
  const reason = fields.message === '' ? '' : `: ${beginning(fields.message, 300)}`;
  const final = (code: ErrorCode, message: string): ProviderFailure => ({
    code,
    message: `${message}${reason}`,
    retry: false,
  });
  if (quota && QUOTA_STATUSES.has(status)) {
    return final('quota_exhausted', `quota or billing (status ${status})`);
  }
  if (status === 429 || (status === 200 && limited)) {
    return { code: 'rate_limited', message: `rate limit (status ${status})${reason}`, retry: true };
  }
  if (FILTER.test(kind)) return filtered(body, reason);
  if (refusesKey(status, kind, said)) {
    return final('provider_auth', `the endpoint refused the key (status ${status})`);
  }
  if (OVERFLOW.test(said)) {
    return {
      ...final('context_overflow', 'the content does not fit the model'),
      details: tokenCounts(body, fields.message),
    };
  }
  if (FILTER.test(said)) return filtered(body, reason);
  if (NO_MODEL.test(said)) {
    return final('model_not_found', `the endpoint does not know the model (status ${status})`);
  }
  if (status === 404) {
    return final('model_not_found', 'no such model or no such path (status 404)');
  }
  if (status >= 300 && status < 400) {
    return final('provider_error', redirected(status));
  }
  return {
    code: 'provider_error',
    message: `status ${status}${reason || htmlReason(body)}`,
    retry: status >= 500 || status === 408 || status === 425 || status === 200,
  };
}

function refusesKey(status: number, kind: string, said: string): boolean {
  if (status === 401 || status === 403) return true;
  return (status === 200 && KEY.test(kind)) || (status === 400 && KEY_SAID.test(said));
}

function filtered(body: string, reason: string): ProviderFailure {
  const categories = filterCategories(body);
  const names = Object.keys(categories);
  const which = names.length === 0 ? '' : ` (${names.join(', ')})`;
  return {
    code: 'judge_refused',
    message: `the endpoint filtered the content${which}${reason}`,
    retry: false,
    ...(names.length > 0 && { details: { categories } }),
  };
}

/** What a content filter objected to, with the severity it gave. */
function filterCategories(body: string): Record<string, string> {
  const error = member(parseJson(body), 'error');
  const inner = member(error, 'innererror') ?? error;
  return filteredCategories(
    member(inner, 'content_filter_result') ?? member(inner, 'content_filter_results'),
  );
}

/** The categories that a content filter names as filtered, in the words of Azure. */
export function filteredCategories(result: unknown): Record<string, string> {
  const found: Record<string, string> = {};
  if (typeof result !== 'object' || result === null) return found;
  for (const [name, verdict] of Object.entries(result)) {
    if (member(verdict, 'filtered') !== true) continue;
    found[beginning(name, 60)] = beginning(textOf(member(verdict, 'severity')), 30) || 'filtered';
  }
  return found;
}

const LIMIT_FIRST =
  /(?:context (?:length|window|size)|prompt length|limit)\D{0,40}?(\d{2,9})(?: tokens?)?\D{0,80}?(?:requested|resulted in|has|sent|contains?)\D{0,40}?(\d{2,9})/i;
const SENT_FIRST = /(\d{2,9})(?: tokens?)?\)?\s*(?:>|exceeds?)\D{0,80}?(\d{2,9})/i;

/** Tokens sent and tokens that fit, as far as the error says. */
function tokenCounts(body: string, message: string): Record<string, number> {
  const error = member(parseJson(body), 'error');
  const counts = (sent: unknown, limit: unknown): Record<string, number> => ({
    ...(Number.isInteger(sent) && { sentTokens: Number(sent) }),
    ...(Number.isInteger(limit) && { limitTokens: Number(limit) }),
  });
  const said = message.slice(0, SEARCHED);
  const limitFirst = LIMIT_FIRST.exec(said);
  if (limitFirst !== null) return counts(Number(limitFirst[2]), Number(limitFirst[1]));
  const sentFirst = SENT_FIRST.exec(said);
  if (sentFirst !== null) return counts(Number(sentFirst[1]), Number(sentFirst[2]));
  const limit = /(?:maximum|context)\D{0,60}?(\d{2,9}) tokens/i.exec(said);
  if (limit !== null) return counts(undefined, Number(limit[1]));
  return counts(member(error, 'n_prompt_tokens'), member(error, 'n_ctx'));
}

function redirected(status: number): string {
  return `it redirects elsewhere (status ${status}), where no key is sent: set the base URL to the address it leads to`;
}

/** The error an OpenAI-compatible body carries, or undefined when it carries none. */
export function embeddedError(body: unknown): { status: number } | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const error = member(body, 'error') ?? member(first(member(body, 'choices')), 'error');
  if (error === null || error === undefined) return undefined;
  const code = Number(member(error, 'code') ?? member(error, 'status') ?? Number.NaN);
  return { status: Number.isInteger(code) && code >= 400 && code < 600 ? code : 200 };
}

function htmlReason(body: string): string {
  const text = body.trim();
  if (text === '') return ' without a body';
  return text.startsWith('<') ? ' with an HTML page' : `: ${beginning(text, 200)}`;
}
