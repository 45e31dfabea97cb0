import { parseJson } from '../core/json.js';
import { isEventStream, joinEventStream } from './answers/event-stream.js';
import { array, count, record, stringOr } from './answers/fields.js';
import { embeddedError, filteredCategories } from './failure.js';
import type { TokenLogprob, TokenPlace, TokenUsage } from './types.js';

export interface CompletionRead {
  kind: 'completion';
  text: string;
  refusal: string | null;
  reasoning: string | null;
  finishReason: string | null;
  model: string | null;
  usage: TokenUsage | null;
  logprobs: TokenPlace[] | null;
  /** What a filter of the endpoint objected to. */
  categories?: Record<string, string>;
  /** In US dollars, where the endpoint says what it charged. */
  costUsd?: number | null;
}

/** What the body of a 2xx answer turned out to be. */
export type Answer<R> =
  | R
  | { kind: 'error'; status: number; body: string }
  | { kind: 'unreadable'; message: string };

export type Completion = Answer<CompletionRead>;

/** Reads a chat completion tolerantly: only what a verdict needs is looked at. */
export function readCompletion(body: string): Completion {
  return readAnswer(body, readChat, joinEventStream);
}

/** Reads a JSON answer, unless it is an error in spite of its status. */
export function readAnswer<R>(
  body: string,
  read: (root: Record<string, unknown>) => R,
  joinStream?: (body: string) => unknown,
): Answer<R> {
  let value = parseJson(body);
  if (value === undefined) {
    if (!isEventStream(body)) return unreadable(body);
    value = joinStream?.(body);
    if (value === undefined) {
      const end = joinStream === undefined ? '' : ', and it broke off';
      const message = `answered with an event stream though none was asked for${end}`;
      return { kind: 'unreadable', message };
    }
  }
  const error = embeddedError(value);
  if (error !== undefined) {
    return { kind: 'error', status: error.status, body: JSON.stringify(value) };
  }
  return read(record(value));
}

/** Reads the parsed body of a chat completion. */
export function readChat(root: Record<string, unknown>): CompletionRead {
  const choice = record(array(root.choices)[0]);
  const message = record(choice.message);
  const { content } = message;
  return {
    kind: 'completion',
    text: textOf(content) || argumentsOf(message),
    refusal: stringOr(message.refusal, null) ?? partsOf(content, 'refusal'),
    reasoning:
      stringOr(message.reasoning_content, null) ??
      stringOr(message.reasoning, null) ??
      partsOf(content, 'thinking'),
    finishReason: stringOr(choice.finish_reason, null),
    model: stringOr(root.model, null),
    usage: readUsage(record(root.usage)),
    ...(choice.finish_reason === 'content_filter' && filteredFor(choice)),
    logprobs: choice.logprobs == null ? null : readLogprobs(record(choice.logprobs).content),
  };
}

function filteredFor(choice: Record<string, unknown>): { categories?: Record<string, string> } {
  const categories = filteredCategories(choice.content_filter_results);
  return Object.keys(categories).length === 0 ? {} : { categories };
}

function unreadable(body: string): Answer<never> {
  const start = body.slice(0, 200).trimStart();
  let what = 'no JSON';
  if (start.startsWith('<')) what = 'an HTML page';
  else if (start === '') what = 'nothing';
  else if (start.startsWith('\u001f')) what = 'compressed bytes that no header announces';
  return { kind: 'unreadable', message: `answered with ${what} (status 200)` };
}

/** Content as one text; a list of parts is joined. What a model thought is no part of its answer. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return array(content)
    .map((part) => (typeof part === 'string' ? part : stringOr(record(part).text, '')))
    .join('');
}

/** What parts of one kind say, null without any. */
function partsOf(content: unknown, kind: 'refusal' | 'thinking'): string | null {
  if (!Array.isArray(content)) return null;
  const said = content
    .map((part) => record(part)[kind])
    .map((inner) => (typeof inner === 'string' ? inner : textOf(inner)))
    .join('');
  return said === '' ? null : said;
}

/** Arguments of the first tool call, as text; the older spelling too. */
function argumentsOf(message: Record<string, unknown>): string {
  const call = record(array(message.tool_calls)[0]);
  const given = record(call.function ?? message.function_call).arguments;
  if (typeof given === 'string') return given;
  return typeof given === 'object' && given !== null ? JSON.stringify(given) : '';
}

export function readLogprobs(content: unknown): TokenPlace[] | null {
  if (!Array.isArray(content)) return null;
  const places: TokenPlace[] = [];
  for (const value of content) {
    const place = record(value);
    const own = tokenLogprob(place);
    if (own === null) return null;
    const top = array(place.top_logprobs)
      .map((entry) => tokenLogprob(record(entry)))
      .filter((entry) => entry !== null);
    places.push({ ...own, top });
  }
  return places;
}

function tokenLogprob({ token, logprob }: Record<string, unknown>): TokenLogprob | null {
  return typeof token === 'string' && typeof logprob === 'number' ? { token, logprob } : null;
}

export function readUsage(usage: Record<string, unknown>): TokenUsage | null {
  const inputTokens = count(usage.prompt_tokens);
  const outputTokens = count(usage.completion_tokens);
  if (inputTokens === null || outputTokens === null) return null;
  const cached = count(record(usage.prompt_tokens_details).cached_tokens);
  const thought = count(record(usage.completion_tokens_details).reasoning_tokens) ?? 0;
  // Most count what the model thought as a part of its output, some beside it: the total tells.
  const beside = count(usage.total_tokens) === inputTokens + outputTokens + thought;
  return {
    inputTokens,
    outputTokens: beside ? outputTokens + thought : outputTokens,
    ...(cached !== null && { cachedInputTokens: cached }),
  };
}
