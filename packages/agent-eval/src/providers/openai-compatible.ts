import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { Clock, Random } from '../core/clock.js';
import { type Deadline, startDeadline } from '../core/deadline.js';
import { type RetryPolicy, retryDelayMs } from '../core/retry.js';
import { promptCut } from './answers/prompt-cut.js';
import { waitHintMs } from './answers/wait-hint.js';
import { ReplyTooLarge, UndecodableReply } from './body.js';
import type { CompletionRead } from './completion.js';
import { type Dialect, OPENAI_CHAT } from './dialect.js';
import { classifyFailure, type ProviderFailure } from './failure.js';
import { CapabilityMemory, type Probe } from './ladder/capabilities.js';
import { droppedParams, type RequestShape } from './ladder/chat-body.js';
import { type Refusal, refusedFeature } from './ladder/refused-feature.js';
import type { Limiter } from './limiter.js';
import type {
  HttpReply,
  HttpTransport,
  ModelClient,
  ModelReply,
  ModelRequest,
  TokenUsage,
} from './types.js';

export interface OpenAiCompatibleOptions {
  /** Default: OpenAI's chat completions. */
  dialect?: Dialect;
  /** Path and query below the endpoint's origin; `{model}` stands for the name of the model. */
  path: string;
  /** Address fit for messages. */
  displayUrl: string;
  authorization: string | null;
  /** Headers of the dialect. */
  headers?: Record<string, string>;
  transport: HttpTransport;
  limiter: Limiter;
  retry: RetryPolicy;
  clock: Clock;
  random: Random;
  /** Hides the endpoint's secrets in a text. */
  redact: (text: string) => string;
  /** Cost of a request in US dollars, by the names that were asked for and reported; null where unknown. */
  prices?: { cost(models: readonly string[], usage: TokenUsage): number | null } | null;
  /** Takes a reply to a prompt that the endpoint seems to have cut, with a warning. */
  allowCutPrompt?: boolean;
  /** Longest a single request may take; 0 leaves it to the deadline. */
  attemptTimeoutMs?: number;
}

/** Stands for the name of the model in a path; no URL holds it by itself. */
export const MODEL_PLACE = '{model}';

type Attempt =
  | { ok: true; reply: CompletionRead; shape: RequestShape }
  | {
      ok: false;
      failure: ProviderFailure;
      waitMs?: number | undefined;
      refusal?: Refusal | undefined;
    };

/** A client of one endpoint, in the dialect that it speaks. */
export class OpenAiCompatibleClient implements ModelClient {
  readonly #options: OpenAiCompatibleOptions;
  readonly #headers: Record<string, string>;
  readonly #dialect: Dialect;
  readonly #memory: CapabilityMemory;

  constructor(options: OpenAiCompatibleOptions) {
    this.#options = options;
    this.#dialect = options.dialect ?? OPENAI_CHAT;
    this.#memory = new CapabilityMemory(options.clock, this.#dialect.ladder);
    this.#headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      'user-agent': 'agent-eval',
      ...(options.authorization !== null && { authorization: options.authorization }),
      ...options.headers,
    };
  }

  async complete(request: ModelRequest, deadline: Deadline): Promise<ModelReply> {
    const probe = this.#memory.probe(request);
    try {
      return await this.#complete(request, probe, deadline);
    } finally {
      probe.end();
    }
  }

  get load(): { running: number; waiting: number } {
    return this.#options.limiter.load;
  }

  async close(): Promise<void> {
    await this.#options.transport.close();
  }

  async #complete(request: ModelRequest, probe: Probe, deadline: Deadline): Promise<ModelReply> {
    const { retry, clock, random, limiter } = this.#options;
    let failed = 0;
    for (let sent = 1; ; sent += 1) {
      if (!probe.mayGo()) await probe.wait(deadline);
      const outcome = await limiter.run(deadline, () => this.#attempt(request, probe, deadline));
      if (outcome.ok) {
        probe.answered();
        return this.#reply(request, outcome.reply, outcome.shape, sent);
      }
      const { failure, waitMs, refusal } = outcome;
      // Sending what the endpoint takes is no retry: it happens however few of those are allowed.
      if (refusal !== undefined && probe.refused(refusal)) continue;
      failed += 1;
      if (!failure.retry || failed >= retry.attempts)
        throw this.#error(request, failure, sent, waitMs);
      const delay = retryDelayMs(retry, failed, random, waitMs);
      if (delay >= deadline.remainingMs()) throw this.#error(request, failure, sent, waitMs);
      probe.end();
      await clock.sleep(delay, deadline);
    }
  }

  async #attempt(request: ModelRequest, probe: Probe, deadline: Deadline): Promise<Attempt> {
    const { transport, path, limiter } = this.#options;
    const { round } = limiter;
    const shape = probe.shape();
    const own = this.#ownDeadline(deadline);
    let reply: HttpReply;
    try {
      reply = await transport.send({
        method: 'POST',
        path: this.#forModel(path, request.model),
        headers: this.#headers,
        body: this.#dialect.body(request, shape),
        cancel: own ?? deadline,
      });
    } catch (error) {
      if (deadline.stopReason() !== null) throw error;
      return { ok: false, failure: exchangeFailure(error, own) };
    } finally {
      own?.release();
    }
    const read = reply.status >= 200 && reply.status < 300 ? this.#dialect.read(reply.text) : null;
    if (read?.kind === 'completion') {
      limiter.answered(round);
      return { ok: true, reply: read, shape };
    }
    if (read?.kind === 'unreadable') {
      return { ok: false, failure: { code: 'provider_error', message: read.message, retry: true } };
    }
    const said = { status: read?.status ?? reply.status, body: read?.body ?? reply.text };
    const { status, body } = this.#dialect.error?.(said.status, said.body) ?? said;
    const refusal = refusedFeature(status, body, request, shape, this.#dialect.names);
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
  ): Attempt & { ok: false } {
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

  #reply(
    request: ModelRequest,
    read: CompletionRead,
    shape: RequestShape,
    attempts: number,
  ): ModelReply {
    const { redact } = this.#options;
    // A model or gateway that repeats what it was sent must not carry a key into a result.
    const clean = (text: string | null): string | null => (text === null ? null : redact(text));
    return {
      text: redact(read.text),
      refusal: clean(read.refusal),
      reasoning: clean(read.reasoning),
      finishReason: read.finishReason,
      model: clean(read.model) ?? request.model,
      usage: read.usage,
      costUsd: this.#cost(request, read),
      logprobs: read.logprobs,
      ...(read.categories !== undefined && { categories: read.categories }),
      replyMode: shape.mode,
      droppedParams: droppedParams(request, shape),
      attempts,
      warnings: this.#promptWarnings(request, read, attempts),
    };
  }

  #cost({ model }: ModelRequest, read: CompletionRead): number | null {
    const { usage, model: reported, costUsd = null } = read;
    if (usage === null) return null;
    const names = reported === null ? [model] : [model, reported];
    return this.#options.prices?.cost(names, usage) ?? costUsd;
  }

  #promptWarnings(request: ModelRequest, { usage }: CompletionRead, attempts: number): string[] {
    const least = promptCut(request, usage);
    if (least === null || usage === null) return [];
    const said = `the endpoint says that it read ${usage.inputTokens} tokens of a prompt of about ${least}: it has cut the prompt`;
    if (this.#options.allowCutPrompt === true) {
      return [`${said}, so the score is about a part of the content only`];
    }
    const displayUrl = this.#forModel(this.#options.displayUrl, request.model);
    throw new AgentEvalError(
      'context_overflow',
      `${displayUrl}: ${said}. Raise the context size of the model at the endpoint, send less content, or allow it with --allow-cut-prompt.`,
      { url: displayUrl, attempts, sentTokens: least, readTokens: usage.inputTokens, usage },
    );
  }

  /** Some dialects name the model in the path. */
  #forModel(path: string, model: string): string {
    if (!path.includes(MODEL_PLACE)) return path;
    const name = model.toWellFormed();
    return path.replace(
      MODEL_PLACE,
      () => this.#dialect.pathName?.(name) ?? encodeURIComponent(name),
    );
  }

  #error(
    { model }: ModelRequest,
    failure: ProviderFailure,
    attempts: number,
    waitMs?: number,
  ): AgentEvalError {
    const { redact } = this.#options;
    const displayUrl = this.#forModel(this.#options.displayUrl, model);
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
