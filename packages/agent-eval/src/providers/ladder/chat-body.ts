import type { ModelRequest, ReplyMode, Sampled } from '../types.js';

/** What of a request is sent, and how: learned from what the endpoint has refused. */
export interface RequestShape {
  mode: ReplyMode;
  temperature: boolean;
  seed: boolean;
  logprobs: boolean;
  reasoning: boolean;
  maxTokens: 'max_tokens' | 'max_completion_tokens' | null;
}

/** What every endpoint is asked first. */
export const FULL_SHAPE: RequestShape = {
  mode: 'json_schema',
  temperature: true,
  seed: true,
  logprobs: true,
  reasoning: true,
  maxTokens: 'max_tokens',
};

/** Stands for an empty earlier reply: endpoints refuse an empty message of the assistant. */
export const NO_REPLY = '(no answer)';

/** Builds the body from parts that are JSON already; absent parameters are left out, never null. */
export function requestBody(request: ModelRequest, shape: RequestShape): string {
  const body = `{"model":${JSON.stringify(request.model)},"messages":${chatMessages(request, shape.mode)}`;
  return `${body}${replyFormat(request, shape.mode)}${samplingJson(request, shape)}}`;
}

/** The members that say how to sample, each after a comma, as far as the endpoint takes them. */
export function samplingJson(request: Sampled, shape: RequestShape): string {
  const { temperature, seed, maxTokens, topLogprobs, reasoningEffort } = request;
  let body = '';
  if (temperature !== undefined && shape.temperature) body += `,"temperature":${temperature}`;
  if (seed !== undefined && shape.seed) body += `,"seed":${seed}`;
  if (maxTokens !== undefined && shape.maxTokens !== null) {
    body += `,"${shape.maxTokens}":${maxTokens}`;
  }
  if (topLogprobs !== undefined && shape.logprobs) {
    body += `,"logprobs":true,"top_logprobs":${topLogprobs}`;
  }
  if (reasoningEffort !== undefined && shape.reasoning) {
    body += `,"reasoning_effort":${JSON.stringify(reasoningEffort)}`;
  }
  return body;
}

/** Names of the parameters that were asked for and not sent under that name. */
export function droppedParams(request: Sampled, shape: RequestShape): string[] {
  const dropped: string[] = [];
  if (request.temperature !== undefined && !shape.temperature) dropped.push('temperature');
  if (request.maxTokens !== undefined && shape.maxTokens !== 'max_tokens') {
    dropped.push('max_tokens');
  }
  if (request.seed !== undefined && !shape.seed) dropped.push('seed');
  if (request.topLogprobs !== undefined && !shape.logprobs) dropped.push('logprobs');
  if (request.reasoningEffort !== undefined && !shape.reasoning) dropped.push('reasoning_effort');
  return dropped;
}

/** The messages as a JSON list. */
export function chatMessages(request: ModelRequest, mode: ReplyMode): string {
  const { user, followUps } = request;
  let list = `[{"role":"system","content":${systemJson(request, mode)}},${message('user', user)}`;
  for (const { reply, ask } of followUps ?? []) {
    list += `,${message('assistant', reply === '' ? NO_REPLY : reply)},${message('user', ask)}`;
  }
  return `${list}]`;
}

function message(role: 'user' | 'assistant', content: string): string {
  return `{"role":"${role}","content":${JSON.stringify(content)}}`;
}

/** The system prompt as a JSON string; it holds the schema where the request has no other place for it. */
export function systemJson({ system, schema }: ModelRequest, mode: ReplyMode): string {
  const seesSchema = mode === 'json_schema' || mode === 'tool_call';
  return seesSchema ? system.json : withSchema(system.json, schema.json);
}

function withSchema(systemJson: string, schema: string): string {
  const added = `\n\nAnswer with one JSON object that matches this JSON Schema, and with nothing else:\n${schema}`;
  return systemJson.slice(0, -1) + JSON.stringify(added).slice(1);
}

function replyFormat({ schema }: ModelRequest, mode: ReplyMode): string {
  const name = JSON.stringify(schema.name);
  switch (mode) {
    case 'json_schema':
      return `,"response_format":{"type":"json_schema","json_schema":{"name":${name},"strict":true,"schema":${schema.json}}}`;
    case 'tool_call':
      return `,"tools":[{"type":"function","function":{"name":${name},"description":"Gives the answer.","parameters":${schema.json}}}],"tool_choice":{"type":"function","function":{"name":${name}}}`;
    case 'json_object':
      return ',"response_format":{"type":"json_object"}';
    case 'text':
      return '';
  }
}
