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
    const { retry, clock, random, limiter, redact } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await limiter.run(deadline, () => this.#attempt(body, deadline));
      if (outcome.ok) {
        // A model or gateway that repeats what it was sent must not carry a key into a result.
        const { text, refusal, finishReason, model, usage } = outcome.reply;
        return {
          text: redact(text),
          refusal: refusal === null ? null : redact(refusal),
          reasoning: null,
          finishReason,
          model: model === null ? request.model : redact(model),
          usage,
          costUsd: null,
          logprobs: null,
          replyMode: 'json_schema',
          droppedParams: [],
          attempts: attempt,
          warnings: [],
        };
      }
      const { failure, waitMs } = outcome;
      if (!failure.retry || attempt >= retry.attempts) throw this.#error(failure, attempt, waitMs);
      const delay = retryDelayMs(retry, attempt, random, waitMs);
      if (delay >= deadline.remainingMs()) throw this.#error(failure, attempt, waitMs);
      await clock.sleep(delay, deadline);
    }
  }

  get load(): { running: number; waiting: number } {
    return this.#options.limiter.load;
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
        cancel: deadline,
      });
    } catch (error) {
      if (deadline.stopReason() !== null) throw error;
      return { ok: false, failure: exchangeFailure(error) };
    }
    const read = reply.status >= 200 && reply.status < 300 ? readCompletion(reply.text) : null;
    if (read?.kind === 'completion') return { ok: true, reply: read };
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
  const { system, user, schema, temperature, seed, maxTokens } = request;
  let body = `{"model":${JSON.stringify(request.model)},"messages":[{"role":"system","content":${system.json}},{"role":"user","content":${JSON.stringify(user)}}],"response_format":{"type":"json_schema","json_schema":{"name":${JSON.stringify(schema.name)},"strict":true,"schema":${schema.json}}}`;
  if (temperature !== undefined) body += `,"temperature":${temperature}`;
  if (seed !== undefined) body += `,"seed":${seed}`;
  if (maxTokens !== undefined) body += `,"max_tokens":${maxTokens}`;
  return `${body}}`;
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
