import * as z from 'zod/mini';
import type { Issue } from './issues.js';
import { described, wireType } from './wire-types.js';

/** What a code means everywhere: over HTTP, at a shell and in Python. */
export interface ErrorRow {
  /** HTTP status; null for a code that only a client gives. */
  http: number | null;
  /** Exit code of a command that ends with it. */
  exit: 1 | 3;
  /** Whether the same call may succeed later. */
  retryable: boolean;
  /** Name of the Python exception. */
  python: string;
  /** When it happens, in one line. */
  when: string;
}

const row = (
  http: number | null,
  python: string,
  when: string,
  options: { retryable?: boolean; exit?: 1 | 3 } = {},
): ErrorRow => ({
  http,
  exit: options.exit ?? 1,
  retryable: options.retryable ?? false,
  python,
  when,
});

const retryable = { retryable: true };

export const ERRORS = {
  validation_error: row(
    400,
    'ValidationError',
    'the request does not match the schema, is not JSON, or names an unknown method',
  ),
  unauthorized: row(401, 'AuthenticationError', 'the bearer token is missing or wrong'),
  budget_exceeded: row(402, 'BudgetExceededError', 'a request or cost limit is used up'),
  forbidden_origin: row(
    403,
    'AuthenticationError',
    'a browser page of another origin, or a Host header that is not ours',
  ),
  rubric_not_found: row(404, 'RubricNotFoundError', 'no rubric of that name'),
  not_found: row(404, 'NotFoundError', 'no such path'),
  method_not_allowed: row(405, 'NotFoundError', 'the path exists, for another HTTP method'),
  conflict: row(409, 'ConflictError', 'the same id with other content'),
  payload_too_large: row(413, 'ValidationError', 'the body is over the limit'),
  unsupported_media_type: row(415, 'ValidationError', 'the body is not sent as JSON'),
  context_overflow: row(422, 'ContextOverflowError', 'the content does not fit the model'),
  idempotency_mismatch: row(422, 'ConflictError', 'the same idempotency key with another body'),
  rubric_needs_checks: row(
    422,
    'RubricNeedsChecksError',
    'judging by checks, as local models do, needs a rubric with checks',
  ),
  cancelled: row(499, 'CancelledError', 'the caller cancelled or went away'),
  internal_error: row(500, 'InternalError', 'a fault of the engine', { exit: 3 }),
  provider_auth: row(502, 'ProviderError', 'the model endpoint refused the key'),
  model_not_found: row(502, 'ProviderError', 'the model endpoint does not know the model'),
  quota_exhausted: row(
    502,
    'ProviderError',
    'quota or billing at the model endpoint, not a rate limit',
  ),
  provider_error: row(
    502,
    'ProviderError',
    'the model endpoint failed or could not be reached',
    retryable,
  ),
  usage_missing: row(502, 'ProviderError', 'a metered call came back without usage'),
  judge_refused: row(502, 'JudgeError', 'the model refused to judge'),
  judge_truncated: row(502, 'JudgeError', 'the reply of the model was cut off'),
  judge_malformed: row(502, 'JudgeError', 'the reply of the model is not a verdict'),
  judge_out_of_range: row(502, 'JudgeError', 'a score lies outside its scale'),
  judge_incomplete: row(502, 'JudgeError', 'the verdict lacks a dimension'),
  judge_no_quorum: row(502, 'JudgeError', 'too few members of a panel gave a verdict'),
  llm_not_configured: row(503, 'ConfigurationError', 'no model endpoint is configured'),
  local_model_missing: row(503, 'ConfigurationError', 'the local model has not been fetched'),
  local_model_invalid: row(
    503,
    'ConfigurationError',
    'the local model file is damaged or not GGUF',
  ),
  local_runtime_missing: row(
    503,
    'ConfigurationError',
    'the runtime for local models is not installed',
  ),
  insufficient_memory: row(503, 'ConfigurationError', 'the local model does not fit into memory'),
  store_unavailable: row(
    503,
    'ConfigurationError',
    'this Node has no SQLite and none is installed, or a store file can not be used',
  ),
  rate_limited: row(503, 'RateLimitError', 'still limited when the deadline came', retryable),
  service_unavailable: row(
    503,
    'ServiceUnavailableError',
    'no store configured, or shutting down',
    retryable,
  ),
  overloaded: row(503, 'ServiceUnavailableError', 'the queue is full', retryable),
  timeout: row(504, 'DeadlineExceededError', 'the deadline of the call passed', retryable),
  transport_error: row(
    null,
    'TransportError',
    'the engine could not be reached, or went away',
    retryable,
  ),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

export const errorBody = wireType(
  'ErrorBody',
  'Why a request failed.',
  z.object({
    code: described('One of the codes of the error table.', z.string()),
    message: described('What happened and what to do next.', z.string()),
    details: described('Facts for programs, by code.', z.record(z.string(), z.unknown())),
  }),
);

export const errorEnvelope = wireType(
  'ErrorEnvelope',
  'The shape of every error.',
  z.object({ error: errorBody }),
);

export type ErrorBody = z.output<typeof errorBody>;

/** The one error of the engine: a code of the table, what to do next, facts for programs. */
export class AgentEvalError extends Error {
  override readonly name = 'AgentEvalError';
  readonly code: ErrorCode;
  readonly details: Record<string, unknown>;

  constructor(
    code: ErrorCode,
    message: string,
    details: Record<string, unknown> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = code;
    this.details = details;
  }

  get row(): ErrorRow {
    return ERRORS[this.code];
  }

  get retryable(): boolean {
    return this.row.retryable;
  }

  toBody(): ErrorBody {
    return { code: this.code, message: this.message, details: this.details };
  }
}

/** A `validation_error` whose details hold every issue; the message names the first. */
export function validationError(what: string, issues: readonly Issue[]): AgentEvalError {
  const first = issues[0];
  const where = first === undefined || first.path === '' ? '' : `${first.path}: `;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  return new AgentEvalError(
    'validation_error',
    `${what}: ${where}${first?.message ?? 'invalid'}${more}.`,
    {
      issues: [...issues],
    },
  );
}
