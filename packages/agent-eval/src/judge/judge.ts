import type { JudgeRequest, JudgeResult, Rubric } from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../core/deadline.js';
import type { ModelClient, ModelReply, ModelRequest } from '../providers/types.js';
import { type Asked, askForVerdict, usageOf } from './ask.js';
import { compileRubric } from './compiled-rubric.js';
import { judgeVersion, samplingOf } from './judge-version.js';
import { PROMPT_VERSION, userMessage } from './prompt.js';
import { composite } from './score.js';

/** A verdict without what only the caller knows: how long the whole call took. */
export type Judgement = Omit<JudgeResult, 'durationMs'>;

/** The part of a request that a pipeline looks at. */
export type JudgeOptions = Pick<
  JudgeRequest,
  'content' | 'context' | 'scoreMode' | 'temperature' | 'seed' | 'maxTokens' | 'includeRaw'
>;

/** Judges by asking a model for scores: one request, and one more where the reply is no verdict. Throws a `judge_*` error when unscored. */
export async function judgeByText(
  rubric: Rubric,
  options: JudgeOptions,
  client: ModelClient,
  model: string,
  deadline: Deadline,
): Promise<Judgement> {
  const { system, schema } = compileRubric(rubric);
  const request = { ...modelRequest(options), model, system, schema };
  const asked = await askForVerdict(rubric, request, client, deadline);
  return judgementOf(rubric, options, asked, {
    scoreMode: 'text',
    judgeVersion: textJudgeVersion(options),
  });
}

/** What every request for a judgement has, whatever is asked. */
export function modelRequest(
  options: JudgeOptions,
): Pick<ModelRequest, 'user' | 'temperature' | 'seed' | 'maxTokens'> {
  return {
    user: userMessage(options.content, options.context),
    temperature: samplingOf(options).temperature,
    seed: options.seed,
    maxTokens: options.maxTokens,
  };
}

/** The judgement that a verdict by scores makes. */
export function judgementOf(
  rubric: Rubric,
  options: JudgeOptions,
  { verdict, reply }: Asked,
  made: Pick<Judgement, 'scoreMode' | 'judgeVersion'>,
): Judgement {
  return {
    composite: composite(rubric, verdict.scores),
    dimensions: { ...verdict.scores },
    failureModes: verdict.failureModes,
    wins: verdict.wins,
    rationale: verdict.rationale,
    rubricVersion: compileRubric(rubric).version,
    ...made,
    ...replyFacts(reply, options),
    warnings: [...reply.warnings, ...verdict.warnings],
    notAssessed: [],
  };
}

/** What a judgement says of the reply behind it. */
export function replyFacts(reply: ModelReply, options: JudgeOptions) {
  return {
    model: reply.model,
    usage: usageOf(reply),
    cached: false,
    attempts: reply.attempts,
    replyMode: reply.replyMode,
    droppedParams: reply.droppedParams,
    ...(options.includeRaw === true && { raw: reply.text }),
  };
}

/** The judgeVersion of a judgement by scores; known before the call. */
export function textJudgeVersion(options: JudgeOptions): string {
  return judgeVersion({
    scoreMode: 'text',
    promptVersion: PROMPT_VERSION,
    sampling: samplingOf(options),
    checks: null,
  });
}
