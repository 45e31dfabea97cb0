import { errorFields } from '../answers/error-body.js';
import type { ReplyMode, Sampled } from '../types.js';
import type { RequestShape } from './chat-body.js';

export type Feature = 'mode' | 'temperature' | 'seed' | 'logprobs' | 'reasoning' | 'maxTokens';

/** What an endpoint will not take. */
export interface Refusal {
  feature: Feature;
  /** Whether it is this value that it will not take, so that another call may send its own. */
  valueOnly: boolean;
}

/** Statuses with which endpoints refuse a part of a request. */
const STATUSES = new Set([400, 404, 405, 415, 422]);

/** How errors call each feature; null for what can't be refused. */
export type FeatureNames = Record<Exclude<Feature, 'mode'>, RegExp> & {
  mode: Record<ReplyMode, RegExp | null>;
};

export const CHAT_NAMES: FeatureNames = {
  mode: {
    json_schema: /response[_ ]?format|json[_ ]?schema|structured[_ ]?outputs?|guided|grammar/i,
    tool_call: /\btools?\b|\btool[_ ]?(?:choice|use|calls?|calling)\b|\bfunctions?[_ ]?call/i,
    json_object: /response[_ ]?format|json[_ ]?object|json[_ ]mode/i,
    text: null,
  },
  temperature: /\btemperature\b/i,
  seed: /\bseed\b/i,
  logprobs: /\b(?:top_?)?log_?probs\b/i,
  reasoning: /\breasoning\b|\breasoning_?effort\b/i,
  maxTokens: /\bmax_(?:completion_)?tokens\b/i,
};

/** A sentence that names a feature refuses it only when it says so. */
const REFUSES =
  /unsupported|support|unknown|unrecogni[sz]ed|unexpected|not (?:allowed|permitted|available|valid|implemented|enabled)|extra|invalid|deprecated|only|must|should|unavailable|cannot|can't|does ?n[o']t|is ?n[o']t|incompatible|removed|no endpoints/i;

/** The endpoint knows the feature and dislikes what the schema says: no other rung would be more honest. */
const SCHEMA_CONTENT =
  /invalid[_ ](?:json[_ ]?)?schema|schema (?:is )?(?:invalid|not valid|too)|in context=|additionalproperties|\bkeywords?\b|\$ref|\bin (?:the )?schema\b|schema must|propert(?:y|ies) |nesting|json_schema\.schema/i;
const RANGE =
  /too (?:large|high|big|small|low|many)|at (?:most|least)|(?:less|greater|more) than|between|\brange\b|exceeds?|[<>]=?|[≤≥]/i;
const OVERFLOW = /context[ _](?:length|window|size)|maximum context|prompt is too long/i;
const NO_MODEL =
  /model[ _]not[ _]found|unknown model|no such model|model .{0,80}does(?: not|n't) exist/i;
const SEARCHED = 2000;

/** Which part of what was sent this answer names as not taken; undefined when it names none. */
export function refusedFeature(
  status: number,
  body: string,
  request: Sampled,
  shape: RequestShape,
  names: FeatureNames = CHAT_NAMES,
): Refusal | undefined {
  if (!STATUSES.has(status)) return undefined;
  const { message, code, type, param } = errorFields(body);
  const said = `${message} ${code} ${type}`.slice(0, SEARCHED);
  if (OVERFLOW.test(said) || NO_MODEL.test(said)) return undefined;
  const sent = sentFeatures(request, shape, names);
  const named = sent.find(([, name]) => name.test(param)) ?? earliest(sent, said);
  if (named === undefined) return undefined;
  const [feature] = named;
  if (feature === 'mode') {
    if (SCHEMA_CONTENT.test(said) || SCHEMA_CONTENT.test(param)) return undefined;
    return { feature, valueOnly: false };
  }
  return { feature, valueOnly: RANGE.test(message) };
}

function sentFeatures(
  request: Sampled,
  shape: RequestShape,
  names: FeatureNames,
): [Feature, RegExp][] {
  const sent: [Feature, RegExp][] = [];
  if (request.temperature !== undefined && shape.temperature) {
    sent.push(['temperature', names.temperature]);
  }
  if (request.maxTokens !== undefined && shape.maxTokens !== null) {
    sent.push(['maxTokens', names.maxTokens]);
  }
  if (request.seed !== undefined && shape.seed) sent.push(['seed', names.seed]);
  if (request.topLogprobs !== undefined && shape.logprobs) sent.push(['logprobs', names.logprobs]);
  if (request.reasoningEffort !== undefined && shape.reasoning) {
    sent.push(['reasoning', names.reasoning]);
  }
  const mode = 'schema' in request ? names.mode[shape.mode] : null;
  if (mode !== null) sent.push(['mode', mode]);
  return sent;
}

/** The feature named first: what follows is often a list of what would be allowed. */
function earliest(sent: [Feature, RegExp][], said: string): [Feature, RegExp] | undefined {
  if (!REFUSES.test(said) && !RANGE.test(said)) return undefined;
  let best: [Feature, RegExp] | undefined;
  let bestAt = Number.POSITIVE_INFINITY;
  for (const feature of sent) {
    const at = said.search(feature[1]);
    if (at >= 0 && at < bestAt) {
      best = feature;
      bestAt = at;
    }
  }
  return best;
}
