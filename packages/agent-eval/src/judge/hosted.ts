import type { Rubric, ScoreMode } from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../core/deadline.js';
import type { EncodedText } from '../core/encoded-text.js';
import type { ModelClient } from '../providers/types.js';
import { hostedChecksPrompt, hostedChecksVersion, judgeByAnswers } from './checks/judge-hosted.js';
import { compileRubric } from './compiled-rubric.js';
import { type Judgement, type JudgeOptions, judgeByText, textJudgeVersion } from './judge.js';
import { graded } from './logprobs/grades.js';
import { judgeByLogprobs, logprobsJudgeVersion } from './logprobs/judge-by-logprobs.js';

/** A way to judge with a model behind an endpoint. */
export interface HostedMode {
  /** What the model is told, and what it must reply. */
  prompt(rubric: Rubric): { system: EncodedText; schema: { name: string; json: string } };
  /** The judgeVersion; known before the call. */
  version(rubric: Rubric, options: JudgeOptions): string;
  judge(
    rubric: Rubric,
    options: JudgeOptions,
    at: { client: ModelClient; model: string },
    deadline: Deadline,
  ): Promise<Judgement>;
}

export function hostedMode(scoreMode: ScoreMode, allowUncalibrated: boolean): HostedMode {
  if (scoreMode === 'checks') return allowUncalibrated ? BY_BROAD_CHECKS : BY_CHECKS;
  return scoreMode === 'logprobs' ? BY_EXPECTED_SCORES : BY_SCORES;
}

const BY_SCORES: HostedMode = {
  prompt: compileRubric,
  version: (_, options) => textJudgeVersion(options),
  judge: (rubric, options, { client, model }, deadline) =>
    judgeByText(rubric, options, client, model, deadline),
};

const BY_EXPECTED_SCORES: HostedMode = {
  prompt: graded,
  version: (_, options) => logprobsJudgeVersion(options),
  judge: judgeByLogprobs,
};

const BY_CHECKS = byChecks(false);
const BY_BROAD_CHECKS = byChecks(true);

function byChecks(broad: boolean): HostedMode {
  return {
    prompt: (rubric) => hostedChecksPrompt(rubric, broad),
    version: (rubric, options) => hostedChecksVersion(rubric, broad, options),
    judge: (rubric, options, at, deadline) => judgeByAnswers(rubric, options, at, broad, deadline),
  };
}
