import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../core/deadline.js';
import { promptCut } from './answers/prompt-cut.js';
import { chatBody, readChatAnswer } from './chat.js';
import type { CompletionRead } from './completion.js';
import { type Dialect, OPENAI_CHAT } from './dialect.js';
import { type CallOptions, EndpointCalls, forModel, type Route } from './endpoint-calls.js';
import { CapabilityMemory, CHAT_LADDER } from './ladder/capabilities.js';
import { droppedParams, type RequestShape } from './ladder/chat-body.js';
import { CHAT_NAMES } from './ladder/refused-feature.js';
import type {
  ChatReply,
  ChatRequest,
  ModelClient,
  ModelReply,
  ModelRequest,
  Sampled,
  TokenUsage,
} from './types.js';

type Charged = Pick<CompletionRead, 'model' | 'usage' | 'costUsd'>;

/** Where a kind of call goes and what opens it. */
export type Address = Pick<Route, 'path' | 'displayUrl' | 'headers'>;

export interface RemoteClientOptions extends CallOptions {
  /** Default: OpenAI's chat completions. */
  dialect?: Dialect;
  /** Where judgements are asked for. */
  judging: Address;
  /** Where chats go, at an endpoint that takes them elsewhere. */
  chatting?: Address | undefined;
  /** Cost of a request in US dollars, by the names that were asked for and reported; null where unknown. */
  prices?: { cost(models: readonly string[], usage: TokenUsage): number | null } | null;
  /** Takes a reply to a prompt that the endpoint seems to have cut, with a warning. */
  allowCutPrompt?: boolean;
}

/** A client of one endpoint, in the dialect that it speaks. */
export class RemoteClient implements ModelClient {
  readonly #options: RemoteClientOptions;
  readonly #dialect: Dialect;
  readonly #calls: EndpointCalls;
  readonly #judging: Route;
  readonly #chatting: Route;

  constructor(options: RemoteClientOptions) {
    const { dialect = OPENAI_CHAT, clock, judging, chatting } = options;
    const { names, ladder, pathName, error } = dialect;
    this.#options = options;
    this.#dialect = dialect;
    this.#calls = new EndpointCalls(options);
    const memory = new CapabilityMemory(clock, ladder);
    this.#judging = { ...withHeaders(judging), names, memory, pathName, error };
    this.#chatting =
      chatting === undefined
        ? this.#judging
        : {
            ...withHeaders(chatting),
            names: CHAT_NAMES,
            memory: new CapabilityMemory(clock, CHAT_LADDER),
          };
  }

  async complete(request: ModelRequest, deadline: Deadline): Promise<ModelReply> {
    const { body, read } = this.#dialect;
    const exchange = { request, body: (shape: RequestShape) => body(request, shape), read };
    const answered = await this.#calls.run(this.#judging, exchange, deadline);
    return this.#reply(request, answered.read, answered.shape, answered.attempts);
  }

  async chat(request: ChatRequest, deadline: Deadline): Promise<ChatReply> {
    const { redact } = this.#options;
    const { read, shape, attempts } = await this.#calls.run(
      this.#chatting,
      {
        request,
        body: (sent) => chatBody(request, sent),
        read: (text) => readChatAnswer(redact(text)),
      },
      deadline,
    );
    const { kind: _, ...answer } = read;
    return {
      ...answer,
      model: read.model ?? request.model,
      costUsd: this.#cost(request, read),
      droppedParams: droppedParams(request, shape),
      attempts,
    };
  }

  get load(): { running: number; waiting: number } {
    return this.#options.limiter.load;
  }

  async close(): Promise<void> {
    await this.#options.transport.close();
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

  #cost({ model }: Sampled, read: Charged): number | null {
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
    const displayUrl = forModel(this.#judging, this.#judging.displayUrl, request.model);
    throw new AgentEvalError(
      'context_overflow',
      `${displayUrl}: ${said}. Raise the context size of the model at the endpoint, send less content, or allow it with --allow-cut-prompt.`,
      { url: displayUrl, attempts, sentTokens: least, readTokens: usage.inputTokens, usage },
    );
  }
}

function withHeaders(address: Address): Address {
  return {
    ...address,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      'user-agent': 'agent-eval',
      ...address.headers,
    },
  };
}
