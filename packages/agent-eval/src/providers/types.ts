import type { Cancellation } from '../core/cancel.js';
import type { Deadline } from '../core/deadline.js';
import type { EncodedText } from '../core/encoded-text.js';

export interface ModelRequest {
  model: string;
  system: EncodedText;
  user: string;
  /** JSON Schema, as JSON text, that the reply must match. */
  schema: { name: string; json: string };
  temperature?: number | undefined;
  seed?: number | undefined;
  maxTokens?: number | undefined;
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
  finishReason: string | null;
  /** Model as the provider reports it. */
  model: string;
  usage: TokenUsage | null;
  /** How the reply was asked for. */
  replyMode: 'json_schema';
  droppedParams: string[];
  /** Requests sent, the answered one included. */
  attempts: number;
}

/** A model endpoint. Throws `AgentEvalError` with a provider code. */
export interface ModelClient {
  complete(request: ModelRequest, deadline: Deadline): Promise<ModelReply>;
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
