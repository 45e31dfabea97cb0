import {
  type AgentEvalError,
  type JudgeRequest,
  type Rubric,
  type ScoreMode,
  validationError,
} from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../core/deadline.js';
import { type ChecksSettings, localChecksVersion } from '../judge/checks/judge-locally.js';
import { hostedMode } from '../judge/hosted.js';
import type { Judgement } from '../judge/judge.js';
import type { YesNoModel } from '../providers/local/types.js';
import type { ApiDeps, JudgeModel, TextModel } from './deps.js';
import { checksJudgement, hostedJudgement } from './remembered.js';

/** What is asked, whoever answers. */
export interface Question {
  request: JudgeRequest;
  rubric: Rubric;
  /** For models that answer checks. */
  checks(): Promise<ChecksSettings>;
}

/** A model with a question for it. */
export interface Respondent {
  /** Model as it was asked for. */
  model: string;
  /** How it makes scores. */
  mode: ScoreMode;
  /** Whether another sample may bring another answer. */
  varies: boolean;
  /** The judgeVersion of what it is asked; known before it answers. */
  version(): Promise<string>;
  judge(sample: number, deadline: Deadline): Promise<Judgement>;
}

/** The model of that name, or the configured one, as the request may use it. */
export async function modelFor(
  deps: ApiDeps,
  { provider, scoreMode }: Pick<JudgeRequest, 'provider' | 'scoreMode'>,
  name: string | undefined,
): Promise<JudgeModel> {
  const model = await deps.resolveModel({ model: name, provider });
  if (model.kind === 'checks' && scoreMode !== undefined && scoreMode !== 'checks') {
    throw refused('scoreMode', LOCAL_BY_CHECKS);
  }
  return model;
}

const LOCAL_BY_CHECKS =
  'a local model judges by checks only; leave scoreMode out, or use a hosted model';

export function refused(path: string, message: string): AgentEvalError {
  return validationError('Invalid request', [{ path, message }]);
}

export function respondent(deps: ApiDeps, question: Question, model: JudgeModel): Respondent {
  return model.kind === 'checks'
    ? localRespondent(deps, question, model.model)
    : hostedRespondent(deps, question, model);
}

function localRespondent(
  deps: ApiDeps,
  { request, rubric, checks }: Question,
  model: YesNoModel,
): Respondent {
  return {
    model: `local/${model.name}`,
    mode: 'checks',
    varies: false,
    async version() {
      const { fileSha256 } = await model.describe();
      return localChecksVersion(rubric, await checks(), fileSha256);
    },
    async judge(_, deadline) {
      return checksJudgement(deps, { rubric, settings: await checks() }, request, model, deadline);
    },
  };
}

function hostedRespondent(
  deps: ApiDeps,
  { request, rubric }: Question,
  model: TextModel,
): Respondent {
  const { scoreMode = 'text' } = request;
  const mode = hostedMode(scoreMode, deps.allowUncalibrated);
  return {
    model: model.model,
    mode: scoreMode,
    varies: true,
    version: async () => mode.version(rubric, request),
    judge: (sample, deadline) =>
      hostedJudgement(deps, { rubric, mode }, atSample(request, sample), model, deadline, sample),
  };
}

/** Samples with one seed would all be the same. */
function atSample(request: JudgeRequest, sample: number): JudgeRequest {
  const { seed } = request;
  return seed === undefined || sample === 0 ? request : { ...request, seed: seed + sample };
}
