import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { Clock, Random } from '../core/clock.js';
import { type Deadline, startDeadline } from '../core/deadline.js';
import { type RetryPolicy, retryDelayMs } from '../core/retry.js';
import { waitHintMs } from './answers/wait-hint.js';
import { ReplyTooLarge, UndecodableReply } from './body.js';
import type { Answer } from './completion.js';
import { classifyFailure, type ProviderFailure } from './failure.js';
import type { CapabilityMemory, Probe } from './ladder/capabilities.js';
import type { RequestShape } from './ladder/chat-body.js';
import { type FeatureNames, type Refusal, refusedFeature } from './ladder/refused-feature.js';
import type { Limiter } from './limiter.js';
import type { HttpReply, HttpTransport, Sampled } from './types.js';

export interface CallOptions {
  transport: HttpTransport;
  limiter: Limiter;
  retry: RetryPolicy;
  clock: Clock;
  random: Random;
  /** Hides the endpoint's secrets in a text. */
  redact: (text: string) => string;
  /** Longest a single request may take; 0 leaves it to the deadline. */
  attemptTimeoutMs?: number;
}

/** A kind of call: where it goes, and how errors are spoken there. */
export interface Route {
  /** Path and query below the endpoint's origin; `{model}` stands for the name of the model. */
  path: string;
  /** Address fit for messages. */
  displayUrl: string;
  headers: Record<string, string>;
  names: FeatureNames;
  /** What is learned of the endpoint. */
  memory: CapabilityMemory;
  /** The model's name as the path spells it; default: percent-encoded. */
  pathName?: ((model: string) => string) | undefined;
  error?: ((status: number, body: string) => { status: number; body: string }) | undefined;
}

/** What one call sends, and how its answer is read. */
export interface Exchange<R> {
  request: Sampled;
  body(shape: RequestShape): string;
  read(body: string): Answer<R>;
}

/** An answer that was read, in the shape that it was asked for, after so many requests. */
export interface Answered<R> {
  read: R;
  shape: RequestShape;
  attempts: number;
}

/** Stands for the name of the model in a path; no URL holds it by itself. */
export const MODEL_PLACE = '{model}';

type Attempt<R> =
  | { ok: true; read: R; shape: RequestShape }
  | {
      ok: false;
      failure: ProviderFailure;
      waitMs?: number | undefined;
      refusal?: Refusal | undefined;
    };

/** Makes calls to one endpoint: within its limit, again where that helps, in a shape that it takes. */
export class EndpointCalls {
  readonly #options: CallOptions;

  constructor(options: CallOptions) {
    this.#options = options;
  }

  /** The answer of a call. Throws an `AgentEvalError` with a provider code where there is none. */
  async run<R extends { kind: 'completion' }>(
    route: Route,
    exchange: Exchange<R>,
    deadline: Deadline,
  ): Promise<Answered<R>> {
    const probe = route.memory.probe(exchange.request);
    try {
      return await this.#run(route, exchange, probe, deadline);
    } finally {
      probe.end();
    }
  }

  async #run<R extends { kind: 'completion' }>(
    route: Route,
    exchange: Exchange<R>,
    probe: Probe,
    deadline: Deadline,
  ): Promise<Answered<R>> {
    const { retry, clock, random, limiter } = this.#options;
    let failed = 0;
    for (let attempts = 1; ; attempts += 1) {
      if (!probe.mayGo()) await probe.wait(deadline);
      const outcome = await limiter.run(deadline, () =>
        this.#attempt(route, exchange, probe, deadline),
      );
      if (outcome.ok) {
        probe.answered();
        return { read: outcome.read, shape: outcome.shape, attempts };
      }
      const { failure, waitMs, refusal } = outcome;
      // Sending what the endpoint takes is no retry: it happens however few of those are allowed.
      if (refusal !== undefined && probe.refused(refusal)) continue;
      failed += 1;
      const error = () => this.#error(route, exchange.request, failure, attempts, waitMs);
      if (!failure.retry || failed >= retry.attempts) throw error();
      const delay = retryDelayMs(retry, failed, random, waitMs);
      if (delay >= deadline.remainingMs()) throw error();
      probe.end();
      await clock.sleep(delay, deadline);
    }
  }

  async #attempt<R extends { kind: 'completion' }>(
    route: Route,
    exchange: Exchange<R>,
    probe: Probe,
    deadline: Deadline,
  ): Promise<Attempt<R>> {
    const { transport, limiter } = this.#options;
    const { request } = exchange;
    const { round } = limiter;
    const shape = probe.shape();
    const own = this.#ownDeadline(deadline);
    let reply: HttpReply;
    try {
      reply = await transport.send({
        method: 'POST',
        path: forModel(route, route.path, request.model),
        headers: route.headers,
        body: exchange.body(shape),
        cancel: own ?? deadline,
      });
    } catch (error) {
      if (deadline.stopReason() !== null) throw error;
      return { ok: false, failure: exchangeFailure(error, own) };
    } finally {
      own?.release();
    }
    const read = reply.status >= 200 && reply.status < 300 ? exchange.read(reply.text) : null;
    if (read?.kind === 'completion') {
      limiter.answered(round);
      return { ok: true, read, shape };
    }
    if (read?.kind === 'unreadable') {
      return { ok: false, failure: { code: 'provider_error', message: read.message, retry: true } };
    }
    const said = { status: read?.status ?? reply.status, body: read?.body ?? reply.text };
    const { status, body } = route.error?.(said.status, said.body) ?? said;
    const refusal = refusedFeature(status, body, request, shape, route.names);
    return { ...this.#unusable(status, body, reply, round), refusal };
  }

  /** A deadline for one request, where there is to be one. */
  #ownDeadline(deadline: Deadline): Deadline | null {
    const { attemptTimeoutMs = 0, clock } = this.#options;
    return attemptTimeoutMs > 0 ? startDeadline(clock, attemptTimeoutMs, deadline) : null;
  }

  #unusable(
    status: number,
    body: string,
    reply: HttpReply,
    round: number,
  ): Attempt<never> & { ok: false } {
    const { clock, limiter, random } = this.#options;
    const failure = classifyFailure(status, body);
    const limited = failure.code === 'rate_limited';
    const header = (name: string): string | undefined => reply.header(name);
    const waitMs = waitHintMs(limited ? 429 : status, header, body, clock.now());
    if (limited) {
      limiter.turnedAway(round, waitMs === undefined ? undefined : waitMs * (1 + 0.1 * random()));
    }
    return { ok: false, failure, waitMs };
  }

  #error(
    route: Route,
    { model }: Sampled,
    failure: ProviderFailure,
    attempts: number,
    waitMs?: number,
  ): AgentEvalError {
    const { redact } = this.#options;
    const displayUrl = forModel(route, route.displayUrl, model);
    const tries = attempts > 1 ? ` after ${attempts} requests` : '';
    return new AgentEvalError(
      failure.code,
      redact(`${displayUrl}: ${failure.message}${tries}.${advice(failure.code)}`),
      {
        ...failure.details,
        url: displayUrl,
        attempts,
        ...(waitMs !== undefined && { retryAfterMs: waitMs }),
      },
    );
  }
}

/** Some dialects name the model in the path. */
export function forModel({ pathName }: Route, path: string, model: string): string {
  if (!path.includes(MODEL_PLACE)) return path;
  const name = model.toWellFormed();
  return path.replace(MODEL_PLACE, () => pathName?.(name) ?? encodeURIComponent(name));
}

function exchangeFailure(error: unknown, own: Deadline | null): ProviderFailure {
  if (own?.stopReason() === 'timeout') {
    const message = `no answer within the ${own.timeoutMs} ms that a request may take (--attempt-timeout-ms)`;
    return { code: 'timeout', message, retry: true };
  }
  if (error instanceof ReplyTooLarge) {
    return { code: 'provider_error', message: error.message, retry: false };
  }
  if (error instanceof UndecodableReply) {
    return { code: 'provider_error', message: error.message, retry: true };
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
