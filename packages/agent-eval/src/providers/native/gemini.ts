import { parseJson } from '../../core/json.js';
import { member, textOf } from '../answers/error-body.js';
import { array, count, record, stringOr } from '../answers/fields.js';
import { type CompletionRead, readAnswer } from '../completion.js';
import { bearer, type Dialect } from '../dialect.js';
import { NO_REPLY, type RequestShape, systemJson } from '../ladder/chat-body.js';
import type { ModelRequest, ReplyMode, TokenPlace, TokenUsage } from '../types.js';

/** Gemini's generateContent. */
export const GEMINI: Dialect = {
  operation: () => '/models/{model}:generateContent',
  chat: { operation: () => '/openai/chat/completions', headers: bearer },
  pathName: (model) => encodeURIComponent(model.replace(/^models\//, '')),
  headers: (apiKey): Record<string, string> =>
    apiKey === null ? {} : { 'x-goog-api-key': apiKey },
  ladder: {
    start: {
      mode: 'json_schema',
      temperature: true,
      seed: true,
      logprobs: true,
      reasoning: true,
      maxTokens: 'max_tokens',
    },
    modes: ['json_schema', 'tool_call', 'json_object', 'text'],
    limits: ['max_tokens'],
  },
  names: {
    mode: {
      json_schema: /response_?(?:json_?)?schema|response_?mime_?type|json[_ ]?schema|json mode/i,
      tool_call: /\btools?\b|\btool_?config\b|\bfunction[_ ]?(?:call|declaration)/i,
      json_object: /response_?mime_?type|json[_ ]mode|json[_ ]?object/i,
      text: null,
    },
    temperature: /\btemperature\b/i,
    maxTokens: /\bmax_?(?:output_?)?tokens\b/i,
    seed: /\bseed\b/i,
    logprobs: /\b(?:response_?)?log_?probs\b/i,
    reasoning: /\bthinking/i,
  },
  body,
  read: (answer) => readAnswer(answer, readContent),
  error,
};

function body(request: ModelRequest, shape: RequestShape): string {
  let text = `{"systemInstruction":{"parts":[{"text":${systemJson(request, shape.mode)}}]}`;
  text += `,"contents":${contents(request)}${tools(request, shape.mode)}`;
  const config = [...replyFormat(request, shape.mode), ...sampling(request, shape)];
  return config.length === 0 ? `${text}}` : `${text},"generationConfig":{${config.join(',')}}}`;
}

function contents({ user, followUps }: ModelRequest): string {
  let list = `[${content('user', user)}`;
  for (const { reply, ask } of followUps ?? []) {
    list += `,${content('model', reply === '' ? NO_REPLY : reply)},${content('user', ask)}`;
  }
  return `${list}]`;
}

function content(role: 'user' | 'model', text: string): string {
  return `{"role":"${role}","parts":[{"text":${JSON.stringify(text)}}]}`;
}

function tools({ schema }: ModelRequest, mode: ReplyMode): string {
  if (mode !== 'tool_call') return '';
  const name = JSON.stringify(schema.name);
  return `,"tools":[{"functionDeclarations":[{"name":${name},"description":"Gives the answer.","parametersJsonSchema":${schema.json}}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":[${name}]}}`;
}

function replyFormat({ schema }: ModelRequest, mode: ReplyMode): string[] {
  const json = '"responseMimeType":"application/json"';
  if (mode === 'json_schema') return [json, `"responseJsonSchema":${schema.json}`];
  return mode === 'json_object' ? [json] : [];
}

function sampling(
  { temperature, seed, maxTokens, topLogprobs, reasoningEffort }: ModelRequest,
  shape: RequestShape,
): string[] {
  const sent: string[] = [];
  if (temperature !== undefined && shape.temperature) sent.push(`"temperature":${temperature}`);
  if (seed !== undefined && shape.seed) sent.push(`"seed":${seed}`);
  if (maxTokens !== undefined && shape.maxTokens !== null) {
    sent.push(`"maxOutputTokens":${maxTokens}`);
  }
  if (topLogprobs !== undefined && shape.logprobs) {
    sent.push(`"responseLogprobs":true,"logprobs":${topLogprobs}`);
  }
  if (reasoningEffort !== undefined && shape.reasoning) {
    sent.push(`"thinkingConfig":{"thinkingLevel":${JSON.stringify(reasoningEffort)}}`);
  }
  return sent;
}

function readContent(root: Record<string, unknown>): CompletionRead {
  const candidate = record(array(root.candidates)[0]);
  const parts = array(record(candidate.content).parts).map(record);
  const said = (thought: boolean): string =>
    parts
      .filter((part) => (part.thought === true) === thought)
      .map(({ text }) => stringOr(text, ''))
      .join('');
  const call = parts.find(({ functionCall }) => functionCall !== undefined);
  const feedback = record(root.promptFeedback);
  const blocked = stringOr(feedback.blockReason, null);
  const finish = stringOr(candidate.finishReason, null);
  const filtered = blocked !== null || (finish !== null && FILTERED.has(finish));
  const categories = filtered ? blockedCategories(blocked === null ? candidate : feedback) : {};
  return {
    kind: 'completion',
    text: call === undefined ? said(false) : JSON.stringify(record(call.functionCall).args ?? {}),
    refusal: filtered
      ? blockedText(blocked, finish, stringOr(feedback.blockReasonMessage, null))
      : null,
    reasoning: stringOr(said(true), null),
    finishReason: filtered ? 'content_filter' : finish && (FINISH[finish] ?? finish),
    model: stringOr(root.modelVersion, null),
    usage: readUsage(record(root.usageMetadata)),
    logprobs: readLogprobs(record(candidate.logprobsResult)),
    ...(Object.keys(categories).length > 0 && { categories }),
  };
}

const FINISH: Readonly<Record<string, string>> = { STOP: 'stop', MAX_TOKENS: 'length' };
const FILTERED = new Set([
  'SAFETY',
  'RECITATION',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'LANGUAGE',
]);

function blockedText(blocked: string | null, finish: string | null, why: string | null): string {
  const what =
    blocked === null ? `the reply was stopped (${finish})` : `the prompt was blocked (${blocked})`;
  return why === null ? what : `${what}: ${why}`;
}

/** What the filter objected to; where it blames none in particular, all that it did not find harmless. */
function blockedCategories({ safetyRatings }: Record<string, unknown>): Record<string, string> {
  const ratings = array(safetyRatings).map(record);
  const blamed = ratings.filter(({ blocked }) => blocked === true);
  const named =
    blamed.length > 0 ? blamed : ratings.filter(({ probability }) => !HARMLESS.has(probability));
  return Object.fromEntries(
    named.map(({ category, probability }) => [
      stringOr(category, 'unnamed').slice(0, 60),
      stringOr(probability, 'blocked').slice(0, 30),
    ]),
  );
}

const HARMLESS = new Set<unknown>(['NEGLIGIBLE', 'LOW', undefined]);

/** What the model thought is counted beside its answer here, and billed like it. */
function readUsage(usage: Record<string, unknown>): TokenUsage | null {
  const prompt = count(usage.promptTokenCount);
  if (prompt === null) return null;
  // A count of nothing is left out of the answer.
  const outputTokens =
    (count(usage.candidatesTokenCount) ?? 0) + (count(usage.thoughtsTokenCount) ?? 0);
  const cached = count(usage.cachedContentTokenCount);
  return {
    inputTokens: prompt + (count(usage.toolUsePromptTokenCount) ?? 0),
    outputTokens,
    ...(cached !== null && { cachedInputTokens: cached }),
  };
}

function readLogprobs(result: Record<string, unknown>): TokenPlace[] | null {
  const chosen = array(result.chosenCandidates).map(logprob);
  if (chosen.length === 0) return null;
  const tops = array(result.topCandidates);
  const places: TokenPlace[] = [];
  for (const [i, own] of chosen.entries()) {
    if (own === null) return null;
    const top = array(record(tops[i]).candidates)
      .map(logprob)
      .filter((entry) => entry !== null);
    places.push({ ...own, top });
  }
  return places;
}

function logprob(value: unknown): { token: string; logprob: number } | null {
  const { token, logProbability } = record(value);
  return typeof token === 'string' && typeof logProbability === 'number'
    ? { token, logprob: logProbability }
    : null;
}

/** It says "quota" of every limit, also of one that is over in a minute: only a day's is a quota here. */
function error(status: number, answer: string): { status: number; body: string } {
  const same = { status, body: answer };
  if (status !== 429) return same;
  const root = record(parseJson(answer));
  const details = array(member(root.error, 'details'));
  const limits = details
    .flatMap((detail) => array(member(detail, 'violations')))
    .map((violation) => textOf(member(violation, 'quotaId')));
  const passing = details.some((detail) => member(detail, 'retryDelay') !== undefined);
  if (limits.some((limit) => /per_?day/i.test(limit)) || !(passing || limits.length > 0))
    return same;
  const named = { ...root, error: { ...record(root.error), type: 'rate_limit' } };
  return { status, body: JSON.stringify(named) };
}
