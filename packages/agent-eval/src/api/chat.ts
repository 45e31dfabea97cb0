import {
  type ChatRequest,
  type ChatResult,
  validationError,
} from '@tangle-network/agent-eval-contract';
import type { ChatReply } from '../providers/types.js';
import type { ApiDeps, Call } from './deps.js';
import { within } from './within.js';

/** A turn of a conversation, by the same providers, limits and prices as judgements. */
export function chat(deps: ApiDeps, request: ChatRequest, call: Call): Promise<ChatResult> {
  return within(deps, request, call, async (deadline) => {
    const { model: name, provider, temperature, seed, ...rest } = request;
    const { max_tokens, max_completion_tokens, timeoutMs: _, n: __, stream: ___, ...passed } = rest;
    const model = await deps.resolveModel({ model: name, provider });
    if (model.kind === 'checks') throw localModel();
    const maxTokens = max_completion_tokens ?? max_tokens;
    const asked = { model: model.model, temperature, seed, maxTokens, passed };
    return completion(await model.client.chat(asked, deadline));
  });
}

function localModel(): Error {
  const message = 'a local model answers yes/no questions only; chat with a hosted one';
  return validationError('Invalid chat request', [{ path: 'model', message }]);
}

function completion(reply: ChatReply): Omit<ChatResult, 'durationMs'> {
  const { id, created, model, message, finishReason, usage } = reply;
  const { content, refusal, toolCalls } = message;
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content,
          refusal,
          ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(asToolCall) }),
        },
        finish_reason: finishReason,
      },
    ],
    usage: usage && {
      prompt_tokens: usage.inputTokens,
      completion_tokens: usage.outputTokens,
      total_tokens: usage.inputTokens + usage.outputTokens,
    },
    costUsd: reply.costUsd,
    attempts: reply.attempts,
    droppedParams: reply.droppedParams,
  };
}

function asToolCall({ id, name, arguments: given }: ChatReply['message']['toolCalls'][number]) {
  return { id, type: 'function' as const, function: { name, arguments: given } };
}
