import { joinEventStream } from './answers/event-stream.js';
import { array, count, record, stringOr } from './answers/fields.js';
import { type Answer, readAnswer, readUsage } from './completion.js';
import { type RequestShape, samplingJson } from './ladder/chat-body.js';
import type { ChatMessage, ChatRequest, TokenUsage } from './types.js';

export interface ChatRead {
  kind: 'completion';
  id: string;
  created: number;
  message: ChatMessage;
  /** Whether every tool call says which tool it calls. */
  named: boolean;
  finishReason: string | null;
  model: string | null;
  usage: TokenUsage | null;
}

/** Builds the body of a chat: what is passed on as it is, then the sampling as far as it is taken. */
export function chatBody(request: ChatRequest, shape: RequestShape): string {
  const { model, passed } = request;
  const fixed = JSON.stringify({ model, ...passed });
  return `${fixed.slice(0, -1)}${samplingJson(request, shape)}}`;
}

/** Reads a turn of the model: what it says, and the tools it calls with the arguments as it wrote them. */
export function readChatAnswer(body: string): Answer<ChatRead> {
  const answer = readAnswer(body, readRoot, joinEventStream);
  if (answer.kind !== 'completion') return answer;
  const { message, finishReason, named } = answer;
  // A call left out would never be answered, and the agent would not know.
  if (!named) return unreadable('answered with a tool call that names no tool (status 200)');
  if (said(message) || (finishReason !== null && finishReason !== 'tool_calls')) return answer;
  return unreadable('answered without a message (status 200)');
}

function unreadable(message: string): Answer<ChatRead> {
  return { kind: 'unreadable', message };
}

function said({ content, refusal, toolCalls }: ChatMessage): boolean {
  return content !== null || refusal !== null || toolCalls.length > 0;
}

function readRoot(root: Record<string, unknown>): ChatRead {
  const choice = record(array(root.choices)[0]);
  const message = record(choice.message);
  const given = array(message.tool_calls);
  const toolCalls = given.flatMap(toolCall);
  return {
    kind: 'completion',
    id: stringOr(root.id, ''),
    created: count(root.created) ?? 0,
    message: {
      content: contentOf(message.content),
      refusal: stringOr(message.refusal, null),
      toolCalls,
    },
    named: toolCalls.length === given.length,
    finishReason: stringOr(choice.finish_reason, null),
    model: stringOr(root.model, null),
    usage: readUsage(record(root.usage)),
  };
}

function contentOf(content: unknown): string | null {
  if (typeof content === 'string') return content;
  const parts = array(content).map((part) => stringOr(record(part).text, ''));
  return parts.length === 0 ? null : parts.join('');
}

function toolCall(value: unknown): ChatMessage['toolCalls'] {
  const { id, function: called } = record(value);
  const { name, arguments: given } = record(called);
  if (typeof name !== 'string') return [];
  const text = typeof given === 'string' ? given : JSON.stringify(given ?? {});
  return [{ id: stringOr(id, ''), name, arguments: text }];
}
