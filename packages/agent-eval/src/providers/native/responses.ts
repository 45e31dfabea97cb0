import { array, count, record, stringOr } from '../answers/fields.js';
import { type CompletionRead, readAnswer, readLogprobs } from '../completion.js';
import { bearer, type Dialect } from '../dialect.js';
import { chatMessages, type RequestShape } from '../ladder/chat-body.js';
import { CHAT_NAMES } from '../ladder/refused-feature.js';
import type { ModelRequest, ReplyMode, TokenUsage } from '../types.js';

/** OpenAI's responses: the only way to some of its models. */
export const OPENAI_RESPONSES: Dialect = {
  operation: () => '/responses',
  chat: { operation: () => '/chat/completions', headers: bearer },
  headers: bearer,
  ladder: {
    start: {
      mode: 'json_schema',
      temperature: true,
      seed: false,
      logprobs: true,
      reasoning: true,
      maxTokens: 'max_tokens',
    },
    modes: ['json_schema', 'tool_call', 'json_object', 'text'],
    limits: ['max_tokens'],
  },
  names: {
    ...CHAT_NAMES,
    mode: {
      ...CHAT_NAMES.mode,
      json_schema: /text\.format|response[_ ]?format|json[_ ]?schema|structured[_ ]?outputs?/i,
      json_object: /text\.format|response[_ ]?format|json[_ ]?object|json[_ ]mode/i,
    },
    maxTokens: /\bmax_(?:output_)?tokens\b/i,
  },
  body,
  read: (answer) => readAnswer(answer, readResponse),
};

function body(request: ModelRequest, shape: RequestShape): string {
  const { model, temperature, maxTokens, topLogprobs, reasoningEffort } = request;
  // What is judged is not left with the provider.
  let text = `{"model":${JSON.stringify(model)},"store":false`;
  text += `,"input":${chatMessages(request, shape.mode)}${replyFormat(request, shape.mode)}`;
  if (temperature !== undefined && shape.temperature) text += `,"temperature":${temperature}`;
  if (maxTokens !== undefined && shape.maxTokens !== null)
    text += `,"max_output_tokens":${maxTokens}`;
  if (reasoningEffort !== undefined && shape.reasoning) {
    text += `,"reasoning":{"effort":${JSON.stringify(reasoningEffort)}}`;
  }
  if (topLogprobs !== undefined && shape.logprobs) {
    text += `,"top_logprobs":${topLogprobs},"include":["message.output_text.logprobs"]`;
  }
  return `${text}}`;
}

function replyFormat({ schema }: ModelRequest, mode: ReplyMode): string {
  const name = JSON.stringify(schema.name);
  switch (mode) {
    case 'json_schema':
      return `,"text":{"format":{"type":"json_schema","name":${name},"strict":true,"schema":${schema.json}}}`;
    case 'tool_call':
      return `,"tools":[{"type":"function","name":${name},"description":"Gives the answer.","strict":true,"parameters":${schema.json}}],"tool_choice":{"type":"function","name":${name}}`;
    case 'json_object':
      return ',"text":{"format":{"type":"json_object"}}';
    case 'text':
      return '';
  }
}

function readResponse(root: Record<string, unknown>): CompletionRead {
  const items = array(root.output).map(record);
  const ofType = (type: string) => items.filter((item) => item.type === type);
  const parts = ofType('message').flatMap(({ content }) => array(content).map(record));
  const said = (field: string) => parts.map((part) => stringOr(part[field], '')).join('');
  const thought = ofType('reasoning')
    .flatMap(({ summary, content }) => [...array(summary), ...array(content)])
    .map((part) => stringOr(record(part).text, ''))
    .join('');
  const logprobs = parts.find((part) => Array.isArray(part.logprobs) && part.logprobs.length > 0);
  return {
    kind: 'completion',
    text: said('text') || stringOr(ofType('function_call')[0]?.arguments, ''),
    refusal: stringOr(said('refusal'), null),
    reasoning: stringOr(thought, null),
    finishReason: finishReason(root),
    model: stringOr(root.model, null),
    usage: readUsage(record(root.usage)),
    logprobs: logprobs === undefined ? null : readLogprobs(logprobs.logprobs),
  };
}

function finishReason({ status, incomplete_details }: Record<string, unknown>): string | null {
  if (status === 'completed') return 'stop';
  const reason = stringOr(record(incomplete_details).reason, null);
  return reason === 'max_output_tokens' ? 'length' : (reason ?? stringOr(status, null));
}

function readUsage(usage: Record<string, unknown>): TokenUsage | null {
  const inputTokens = count(usage.input_tokens);
  const outputTokens = count(usage.output_tokens);
  if (inputTokens === null || outputTokens === null) return null;
  const cached = count(record(usage.input_tokens_details).cached_tokens);
  return { inputTokens, outputTokens, ...(cached !== null && { cachedInputTokens: cached }) };
}
