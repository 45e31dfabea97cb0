import { array, count, record, stringOr } from '../answers/fields.js';
import { type CompletionRead, readAnswer } from '../completion.js';
import { bearer, type Dialect } from '../dialect.js';
import { NO_REPLY, type RequestShape, systemJson } from '../ladder/chat-body.js';
import type { ModelRequest, ReplyMode, TokenUsage } from '../types.js';
import { schemaWithout } from './schema.js';

const API_VERSION = '2023-06-01';
/** The endpoint insists on a limit of the output; every model of it takes this one, and a verdict needs far less. */
const MAX_TOKENS = 4096;

const allowed = schemaWithout(['minimum', 'maximum', 'maxItems']);

/** Anthropic's messages. */
export const ANTHROPIC: Dialect = {
  operation: () => '/messages',
  headers: (apiKey) => ({
    'anthropic-version': API_VERSION,
    ...(apiKey !== null && { 'x-api-key': apiKey }),
  }),
  ladder: {
    start: {
      mode: 'json_schema',
      temperature: true,
      seed: false,
      logprobs: false,
      reasoning: true,
      maxTokens: 'max_tokens',
    },
    modes: ['json_schema', 'tool_call', 'text'],
    limits: ['max_tokens'],
  },
  names: {
    mode: {
      json_schema: /output[_ ](?:config|format)|json[_ ]?schema|structured[_ ]?outputs?/i,
      tool_call: /\btools?\b|\btool[_ ]?(?:choice|use|calls?)\b/i,
      json_object: null,
      text: null,
    },
    temperature: /\btemperature\b/i,
    maxTokens: /\bmax_tokens\b/i,
    seed: /\bseed\b/i,
    logprobs: /\blog_?probs\b/i,
    reasoning: /(?:\boutput_config\.)?\beffort\b/i,
  },
  // Its own chat completions, which take tools too.
  chat: { operation: () => '/chat/completions', headers: bearer },
  body,
  read: (answer) => readAnswer(answer, readMessage),
};

function body(request: ModelRequest, shape: RequestShape): string {
  const { model, temperature, maxTokens } = request;
  const limit = shape.maxTokens === null ? MAX_TOKENS : (maxTokens ?? MAX_TOKENS);
  let text = `{"model":${JSON.stringify(model)},"max_tokens":${limit}`;
  text += `,"system":${systemJson(request, shape.mode)},"messages":${messages(request)}`;
  text += replyFormat(request, shape);
  if (temperature !== undefined && shape.temperature) text += `,"temperature":${temperature}`;
  return `${text}}`;
}

function messages({ user, followUps }: ModelRequest): string {
  let list = `[${message('user', user)}`;
  for (const { reply, ask } of followUps ?? []) {
    // It refuses white space at the end of a reply, and an empty one.
    list += `,${message('assistant', reply.trimEnd() || NO_REPLY)},${message('user', ask)}`;
  }
  return `${list}]`;
}

function message(role: 'user' | 'assistant', content: string): string {
  return `{"role":"${role}","content":${JSON.stringify(content)}}`;
}

function replyFormat(request: ModelRequest, { mode, reasoning }: RequestShape): string {
  const { schema, reasoningEffort } = request;
  const name = JSON.stringify(schema.name);
  const output: string[] = [];
  if (mode === 'json_schema') {
    output.push(`"format":{"type":"json_schema","schema":${allowed(schema.json)}}`);
  }
  if (reasoningEffort !== undefined && reasoning) {
    output.push(`"effort":${JSON.stringify(reasoningEffort)}`);
  }
  const config = output.length === 0 ? '' : `,"output_config":{${output.join(',')}}`;
  return config + forcedTool(schema, name, mode);
}

function forcedTool({ json }: ModelRequest['schema'], name: string, mode: ReplyMode): string {
  switch (mode) {
    case 'tool_call':
      return `,"tools":[{"name":${name},"description":"Gives the answer.","input_schema":${json}}],"tool_choice":{"type":"tool","name":${name}}`;
    default:
      return '';
  }
}

function readMessage(root: Record<string, unknown>): CompletionRead {
  const blocks = array(root.content).map(record);
  const said = (kind: string): string =>
    blocks
      .filter(({ type }) => type === kind)
      .map((block) => stringOr(block[kind], ''))
      .join('');
  const call = blocks.find(({ type }) => type === 'tool_use');
  const stopReason = stringOr(root.stop_reason, null);
  const text = said('text');
  return {
    kind: 'completion',
    text: call === undefined ? text : JSON.stringify(call.input ?? {}),
    refusal: stopReason === 'refusal' ? refusal(root, text) : null,
    reasoning: stringOr(said('thinking'), null),
    finishReason: stopReason === null ? null : (FINISH[stopReason] ?? stopReason),
    model: stringOr(root.model, null),
    usage: readUsage(record(root.usage)),
    logprobs: null,
  };
}

const FINISH: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
};

function refusal(root: Record<string, unknown>, text: string): string {
  const { explanation, category } = record(root.stop_details);
  const why = stringOr(explanation, null) ?? stringOr(text, null) ?? 'it gave no reason';
  const kind = stringOr(category, null);
  return kind === null ? why : `${why} (${kind})`;
}

/** Cached tokens come beside those of the input here, not within them. */
function readUsage(usage: Record<string, unknown>): TokenUsage | null {
  const fresh = count(usage.input_tokens);
  const outputTokens = count(usage.output_tokens);
  if (fresh === null || outputTokens === null) return null;
  const cached = count(usage.cache_read_input_tokens) ?? 0;
  const written = count(usage.cache_creation_input_tokens) ?? 0;
  const inputTokens = fresh + cached + written;
  return { inputTokens, outputTokens, ...(cached > 0 && { cachedInputTokens: cached }) };
}
