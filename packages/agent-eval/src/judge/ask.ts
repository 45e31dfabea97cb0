import { AgentEvalError, type Rubric, type Usage } from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../core/deadline.js';
import { beginning } from '../core/text.js';
import type { ModelClient, ModelReply, ModelRequest } from '../providers/types.js';
import { parseReply } from './parse.js';
import type { Outcome, Unusable, Verdict } from './verdict.js';

/** What was asked for with the reply it was read from; tokens, cost and requests are those of every reply. */
export interface Asked<T = Verdict> {
  verdict: T;
  reply: ModelReply;
}

/** How a reply is read, and what a model is told that has to answer again. */
export interface Reading<T> {
  read(reply: ModelReply): Outcome<T>;
  again: string;
}

/** So much of an unusable reply is shown to the model again. */
const SHOWN_CHARS = 4_000;

/** Asks for a verdict by scores, as `askFor` does. */
export function askForVerdict(
  rubric: Rubric,
  request: ModelRequest,
  client: ModelClient,
  deadline: Deadline,
): Promise<Asked> {
  const reading = { read: (reply: ModelReply) => parseReply(rubric, reply), again: SCORES_AGAIN };
  return askFor(reading, request, client, deadline);
}

/** Asks, and once more where the first reply can't be read. Throws a `judge_*` error when unscored. */
export async function askFor<T>(
  { read, again }: Reading<T>,
  request: ModelRequest,
  client: ModelClient,
  deadline: Deadline,
): Promise<Asked<T>> {
  const first = await client.complete(request, deadline);
  const outcome = read(first);
  if (outcome.scored) return { verdict: outcome.verdict, reply: first };
  if (outcome.why.code === 'judge_refused') throw unscoredError(outcome.why, first);
  const next = askedAgain(request, first, outcome.why, again);
  const second = await client.complete(next, deadline);
  const reply = together(first, second);
  const better = read(second);
  if (!better.scored) throw unscoredError(better.why, reply);
  const warning = `asked again: ${outcome.why.code} at first`;
  return {
    verdict: better.verdict,
    reply: { ...reply, warnings: [...reply.warnings, warning] },
  };
}

/** A reply that was cut off gets twice the room; any other is shown to the model with what is wrong. */
function askedAgain(
  request: ModelRequest,
  reply: ModelReply,
  why: Unusable,
  again: string,
): ModelRequest {
  const followUp = (shown: string, ask: string): ModelRequest => ({
    ...request,
    followUps: [{ reply: beginning(shown, SHOWN_CHARS), ask: `${ask} ${again}` }],
  });
  if (why.code === 'judge_truncated') {
    const { maxTokens } = request;
    if (maxTokens !== undefined) return { ...request, maxTokens: 2 * maxTokens };
    return followUp(reply.text, SHORTER);
  }
  return followUp(reply.text.trim() === '' ? '(nothing)' : reply.text, why.message);
}

const SCORES_AGAIN =
  'Answer again with the whole verdict: one JSON object and nothing else, with a plain number on its own scale for every dimension.';
const SHORTER = 'Your reply was cut off. Keep the rationale to one sentence.';

/** The second reply, with what both of them took. */
function together(first: ModelReply, second: ModelReply): ModelReply {
  return {
    ...second,
    usage: sum(first.usage, second.usage),
    costUsd:
      first.costUsd === null || second.costUsd === null ? null : first.costUsd + second.costUsd,
    attempts: first.attempts + second.attempts,
    droppedParams: [...new Set([...first.droppedParams, ...second.droppedParams])],
    warnings: [...new Set([...first.warnings, ...second.warnings])],
  };
}

function sum(a: ModelReply['usage'], b: ModelReply['usage']): ModelReply['usage'] {
  if (a === null || b === null) return null;
  const cached = a.cachedInputTokens ?? b.cachedInputTokens;
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    ...(cached !== undefined && {
      cachedInputTokens: (a.cachedInputTokens ?? 0) + (b.cachedInputTokens ?? 0),
    }),
  };
}

/** Tokens and cost of a reply as the wire has them. */
export function usageOf({ usage, costUsd }: ModelReply): Usage | null {
  return usage === null ? null : { ...usage, costUsd };
}

/** Tokens are spent on an unusable reply too: the error says how many. */
function unscoredError({ code, message, details }: Unusable, reply: ModelReply): AgentEvalError {
  const usage = usageOf(reply);
  return new AgentEvalError(code, message, {
    ...details,
    model: reply.model,
    attempts: reply.attempts,
    ...(usage !== null && { usage }),
  });
}
