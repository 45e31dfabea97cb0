import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { Clock, Random } from '../core/clock.js';
import type { Deadline } from '../core/deadline.js';
import { type RetryPolicy, retryAfterMs, retryDelayMs } from '../core/retry.js';
import { ReplyTooLarge } from './body.js';
import { type CompletionRead, readCompletion } from './completion.js';
import { classifyFailure, type ProviderFailure } from './failure.js';
import type { Limiter } from './limiter.js';
import type { HttpReply, HttpTransport, ModelClient, ModelReply, ModelRequest } from './types.js';

export interface OpenAiCompatibleOptions {
  /** Path and query below the endpoint's origin. */
  path: string;
  /** Address fit for messages. */
  displayUrl: string;
  authorization: string | null;
  transport: HttpTransport;
  limiter: Limiter;
  retry: RetryPolicy;
  clock: Clock;
  random: Random;
  /** Hides the endpoint's secrets in a text. */
  redact: (text: string) => string;
}

type Attempt =
  | { ok: true; reply: CompletionRead }
  | { ok: false; failure: ProviderFailure; waitMs?: number | undefined };

/** A client of an endpoint that speaks OpenAI's chat completions. */
export class OpenAiCompatibleClient implements ModelClient {
  readonly #options: OpenAiCompatibleOptions;
  readonly #headers: Record<string, string>;

  constructor(options: OpenAiCompatibleOptions) {
    this.#options = options;
    this.#headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      'user-agent': 'agent-eval',
      ...(options.authorization !== null && { authorization: options.authorization }),
    };
  }

  async complete(request: ModelRequest, deadline: Deadline): Promise<ModelReply> {
    const body = requestBody(request);
    const { retry, clock, random, limiter } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await limiter.run(deadline.signal, () => this.#attempt(body, deadline));
      if (outcome.ok) {
        return {
          ...outcome.reply,
          model: outcome.reply.model ?? request.model,
          replyMode: 'json_schema',
          droppedParams: [],
          attempts: attempt,
        };
      }
      const { failure, waitMs } = outcome;
      if (!failure.retry || attempt >= retry.attempts) throw this.#error(failure, attempt, waitMs);
      const delay = retryDelayMs(retry, attempt, random, waitMs);
      if (delay >= deadline.remainingMs()) throw this.#error(failure, attempt, waitMs);
      await clock.sleep(delay, deadline.signal);
    }
  }

  async close(): Promise<void> {
    await this.#options.transport.close();
  }

  async #attempt(body: string, deadline: Deadline): Promise<Attempt> {
    const { transport, path, clock } = this.#options;
    let reply: HttpReply;
    try {
      reply = await transport.send({
        method: 'POST',
        path,
        headers: this.#headers,
        body,
        signal: deadline.signal,
      });
    } catch (error) {
      if (deadline.stopReason() !== null) throw error;
      return { ok: false, failure: exchangeFailure(error) };
    }
    const read = reply.status >= 200 && reply.status < 300 ? readCompletion(reply.text) : null;
    if (read?.kind === 'completion') return { ok: true, reply: this.#withoutSecrets(read) };
    const status = read?.kind === 'error' ? read.status : reply.status;
    return {
      ok: false,
      failure:
        read?.kind === 'unreadable'
          ? { code: 'provider_error', message: read.message, retry: true }
          : classifyFailure(status, reply.text),
      waitMs: retryAfterMs((name) => reply.header(name), clock.now()),
    };
  }

  /** A model or gateway that repeats what it was sent must not carry a key into a result. */
  #withoutSecrets(reply: CompletionRead): CompletionRead {
    const { redact } = this.#options;
    return {
      ...reply,
      text: redact(reply.text),
      refusal: reply.refusal === null ? null : redact(reply.refusal),
      model: reply.model === null ? null : redact(reply.model),
    };
  }

  #error(failure: ProviderFailure, attempts: number, waitMs?: number): AgentEvalError {
    const { displayUrl, redact } = this.#options;
    const tries = attempts > 1 ? ` after ${attempts} requests` : '';
    return new AgentEvalError(
      failure.code,
      redact(`${displayUrl}: ${failure.message}${tries}.${advice(failure.code)}`),
      { url: displayUrl, attempts, ...(waitMs !== undefined && { retryAfterMs: waitMs }) },
    );
  }
}

/** Builds the body from parts that are JSON already; absent parameters are left out. */
function requestBody(request: ModelRequest): string {
  const fields = [
    `"model":${JSON.stringify(request.model)}`,
    `"messages":[{"role":"system","content":${request.system.json}},{"role":"user","content":${JSON.stringify(request.user)}}]`,
    `"response_format":{"type":"json_schema","json_schema":{"name":${JSON.stringify(request.schema.name)},"strict":true,"schema":${request.schema.json}}}`,
  ];
  if (request.temperature !== undefined) fields.push(`"temperature":${request.temperature}`);
  if (request.seed !== undefined) fields.push(`"seed":${request.seed}`);
  if (request.maxTokens !== undefined) fields.push(`"max_tokens":${request.maxTokens}`);
  return `{${fields.join(',')}}`;
}

function exchangeFailure(error: unknown): ProviderFailure {
  if (error instanceof ReplyTooLarge) {
    return { code: 'provider_error', message: error.message, retry: false };
  }
  return {
    code: 'provider_error',
    message: `could not be reached (${causeOf(error)})`,
    retry: true,
  };
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown cause';
  if (error instanceof AggregateError && error.errors.length > 0) return causeOf(error.errors[0]);
  return error.message === '' ? error.name : error.message;
}

function advice(code: string): string {
  switch (code) {
    case 'provider_auth':
      return ' Check the API key and that it belongs to this endpoint.';
    case 'model_not_found':
      return ' Check AGENT_EVAL_LLM_MODEL and the base URL.';
    case 'quota_exhausted':
      return ' Check the plan and billing of the account behind the key.';
    case 'rate_limited':
      return ' Lower --concurrency or try again later.';
    default:
      return '';
  }
}
