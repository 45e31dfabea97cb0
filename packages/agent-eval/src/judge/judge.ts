import type { JudgeRequest, JudgeResult, Rubric } from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../core/deadline.js';
import type { ModelClient } from '../providers/types.js';
import { askForVerdict, usageOf } from './ask.js';
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
  const { system, schema, version } = compileRubric(rubric);
  const { temperature } = samplingOf(options);
  const { verdict, reply } = await askForVerdict(
    rubric,
    {
      model,
      system,
      schema,
      user: userMessage(options.content, options.context),
      temperature,
      seed: options.seed,
      maxTokens: options.maxTokens,
    },
    client,
    deadline,
  );
  return {
    composite: composite(rubric, verdict.scores),
    dimensions: { ...verdict.scores },
    failureModes: verdict.failureModes,
    wins: verdict.wins,
    rationale: verdict.rationale,
    rubricVersion: version,
    model: reply.model,
    usage: usageOf(reply),
    cached: false,
    attempts: reply.attempts,
    judgeVersion: textJudgeVersion(options),
    scoreMode: 'text',
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
