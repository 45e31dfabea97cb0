import type {
  JudgeRequest,
  JudgeResult,
  Rubric,
  ScoreMode,
} from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../core/deadline.js';
import type { ModelClient, ModelRequest } from '../providers/types.js';
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
  | 'content'
  | 'context'
  | 'scoreMode'
  | 'temperature'
  | 'seed'
  | 'reasoningEffort'
  | 'maxTokens'
  | 'includeRaw'
>;

/** Judges by asking a model for scores: one request, and one more where the reply is no verdict. Throws a `judge_*` error when unscored. */
export async function judgeByText(
  rubric: Rubric,
  options: JudgeOptions,
  client: ModelClient,
  model: string,
  deadline: Deadline,
): Promise<Judgement> {
  const request = modelRequest(options, model, compileRubric(rubric));
  const asked = await askForVerdict(rubric, request, client, deadline);
  return judgementOf(rubric, options, asked, 'text', textJudgeVersion(options));
}

/** The request for a judgement, whatever is asked. */
export function modelRequest(
  options: JudgeOptions,
  model: string,
  { system, schema }: Pick<ModelRequest, 'system' | 'schema'>,
  topLogprobs?: number,
): ModelRequest {
  return {
    model,
    system,
    schema,
    user: userMessage(options.content, options.context),
    temperature: samplingOf(options).temperature,
    seed: options.seed,
    reasoningEffort: options.reasoningEffort,
    maxTokens: options.maxTokens,
    topLogprobs,
  };
}

/** The judgement that a verdict by scores makes. Written out: every judgement passes here. */
export function judgementOf(
  rubric: Rubric,
  options: JudgeOptions,
  { verdict, reply }: Asked,
  scoreMode: ScoreMode,
  version: string,
): Judgement {
  return {
    composite: composite(rubric, verdict.scores),
    dimensions: { ...verdict.scores },
    failureModes: verdict.failureModes,
    wins: verdict.wins,
    rationale: verdict.rationale,
    rubricVersion: compileRubric(rubric).version,
    model: reply.model,
    usage: usageOf(reply),
    cached: false,
    attempts: reply.attempts,
    judgeVersion: version,
    scoreMode,
    replyMode: reply.replyMode,
    droppedParams: reply.droppedParams,
    warnings: [...reply.warnings, ...verdict.warnings],
    notAssessed: [],
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
