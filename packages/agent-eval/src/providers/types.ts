import type { Cancellation } from '../core/cancel.js';
import type { Deadline } from '../core/deadline.js';
import type { EncodedText } from '../core/encoded-text.js';

/** What every request says of the model and of its sampling. */
export interface Sampled {
  model: string;
  temperature?: number | undefined;
  seed?: number | undefined;
  maxTokens?: number | undefined;
  /** How much a model that thinks should think, in the provider's own words. */
  reasoningEffort?: string | undefined;
  /** Asks for the log probabilities of so many of the likeliest tokens at each place, 1 to 20. */
  topLogprobs?: number | undefined;
}

/** A turn of a conversation, as the wire of chat completions has it. */
export interface ChatRequest extends Sampled {
  /** Messages, tools and whatever else is passed on as it is. */
  passed: Record<string, unknown>;
}

export interface ChatReply {
  id: string;
  created: number;
  message: ChatMessage;
  finishReason: string | null;
  model: string;
  usage: TokenUsage | null;
  /** In US dollars; null when the price or the usage is unknown. */
  costUsd: number | null;
  droppedParams: string[];
  attempts: number;
}

export interface ChatMessage {
  content: string | null;
  refusal: string | null;
  toolCalls: { id: string; name: string; arguments: string }[];
}

export interface ModelRequest extends Sampled {
  system: EncodedText;
  user: string;
  /** Earlier replies of this judgement and what was asked after each, oldest first. */
  followUps?: readonly { reply: string; ask: string }[] | undefined;
  /** JSON Schema, as JSON text, that the reply must match. */
  schema: { name: string; json: string };
}

/** How a reply was asked for, from the strictest to the loosest. */
export type ReplyMode = 'json_schema' | 'tool_call' | 'json_object' | 'text';

export interface TokenLogprob {
  token: string;
  logprob: number;
}

/** One token of a reply with those that could have stood there. */
export interface TokenPlace extends TokenLogprob {
  top: readonly TokenLogprob[];
}

/** Tokens as the provider reported them. */
export interface TokenUsage {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens?: number;
}

export interface ModelReply {
  text: string;
  /** The model's own words when it declined to answer. */
  refusal: string | null;
  /** What a filter of the endpoint objected to, with how strongly. */
  categories?: Record<string, string>;
  /** What the model thought, where the endpoint tells that apart from its answer. */
  reasoning: string | null;
  finishReason: string | null;
  /** Model as the provider reports it. */
  model: string;
  usage: TokenUsage | null;
  /** Cost in US dollars of every request sent; null when the price or the usage is unknown. */
  costUsd: number | null;
  /** Null where the endpoint gave none. */
  logprobs: readonly TokenPlace[] | null;
  replyMode: ReplyMode;
  droppedParams: string[];
  /** Requests sent, the answered one included. */
  attempts: number;
  /** What to know before trusting the reply. */
  warnings: string[];
}

/** A model endpoint. Throws `AgentEvalError` with a provider code. */
export interface ModelClient {
  /** Calls in flight, and calls that wait for a place. */
  readonly load?: { running: number; waiting: number };
  complete(request: ModelRequest, deadline: Deadline): Promise<ModelReply>;
  chat(request: ChatRequest, deadline: Deadline): Promise<ChatReply>;
  close(): Promise<void>;
}

/** One HTTP exchange, below retries: what undici and node:http have in common. */
export interface HttpTransport {
  send(request: HttpRequest): Promise<HttpReply>;
  close(): Promise<void>;
}

export interface HttpRequest {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body: string;
  cancel: Cancellation;
}

export interface HttpReply {
  status: number;
  header(name: string): string | undefined;
  text: string;
}
