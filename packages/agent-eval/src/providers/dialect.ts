import { type Completion, readCompletion } from './completion.js';
import { CHAT_LADDER, type Ladder } from './ladder/capabilities.js';
import { type RequestShape, requestBody } from './ladder/chat-body.js';
import { CHAT_NAMES, type FeatureNames } from './ladder/refused-feature.js';
import type { ModelRequest } from './types.js';

/**
 * How an endpoint is spoken to: the parts of an exchange that differ from one provider to the next. Retries,
 * limits, what is learned, deadlines and redaction are the client's, and the same for all.
 */
export interface Dialect {
  /** Where requests go below the endpoint's path; `{model}` stands for the name of the model. */
  operation(basePath: string): string;
  /** The model's name as the path spells it; default: percent-encoded. */
  pathName?(model: string): string;
  /** Headers of every request, the one that holds the key among them. */
  headers(apiKey: string | null): Record<string, string>;
  ladder: Ladder;
  /** How refusals of the endpoint call what a request can do without. */
  names: FeatureNames;
  body(request: ModelRequest, shape: RequestShape): string;
  /** Reads the body of a 2xx answer. */
  read(body: string): Completion;
  /** Where the endpoint takes chat completions, when it speaks something else by itself. */
  chat?: {
    operation(basePath: string): string;
    headers(apiKey: string | null): Record<string, string>;
  };
  /** Says an error in the words that `classifyFailure` knows, where the endpoint has its own. */
  error?(status: number, body: string): { status: number; body: string };
}

export const bearer = (apiKey: string | null): Record<string, string> =>
  apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };

/** OpenAI's chat completions, which most servers speak. */
export const OPENAI_CHAT: Dialect = {
  operation: () => '/chat/completions',
  headers: bearer,
  ladder: CHAT_LADDER,
  names: CHAT_NAMES,
  body: requestBody,
  read: readCompletion,
};
