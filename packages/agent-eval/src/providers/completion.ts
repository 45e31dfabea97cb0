import { embeddedError } from './failure.js';
import type { TokenUsage } from './types.js';

export interface CompletionRead {
  kind: 'completion';
  text: string;
  refusal: string | null;
  finishReason: string | null;
  model: string | null;
  usage: TokenUsage | null;
}

/** What the body of a 2xx answer turned out to be. */
export type Completion =
  | CompletionRead
  | { kind: 'error'; status: number }
  | { kind: 'unreadable'; message: string };

/** Reads a chat completion tolerantly: only what a verdict needs is looked at. */
export function readCompletion(body: string): Completion {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return unreadable(body);
  }
  const error = embeddedError(value);
  if (error !== undefined) return { kind: 'error', status: error.status };
  const root = record(value);
  const choice = record(array(root.choices)[0]);
  const message = record(choice.message);
  return {
    kind: 'completion',
    text: textOf(message.content),
    refusal: stringOr(message.refusal, null),
    finishReason: stringOr(choice.finish_reason, null),
    model: stringOr(root.model, null),
    usage: readUsage(record(root.usage)),
  };
}

function unreadable(body: string): Completion {
  const start = body.trimStart();
  if (start.startsWith('data:') || start.startsWith('event:')) {
    return {
      kind: 'unreadable',
      message: 'answered with an event stream though none was asked for',
    };
  }
  const what = start.startsWith('<') ? 'an HTML page' : start === '' ? 'nothing' : 'no JSON';
  return { kind: 'unreadable', message: `answered with ${what} (status 200)` };
}

/** Content as one text; a list of parts is joined. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return array(content)
    .map((part) => stringOr(record(part).text, ''))
    .join('');
}

function readUsage(usage: Record<string, unknown>): TokenUsage | null {
  const inputTokens = count(usage.prompt_tokens);
  const outputTokens = count(usage.completion_tokens);
  if (inputTokens === null || outputTokens === null) return null;
  const cached = count(record(usage.prompt_tokens_details).cached_tokens);
  return { inputTokens, outputTokens, ...(cached !== null && { cachedInputTokens: cached }) };
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function stringOr<T>(value: unknown, fallback: T): string | T {
  return typeof value === 'string' && value !== '' ? value : fallback;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function array(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
