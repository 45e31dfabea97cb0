import {
  AgentEvalError,
  type JudgeRequest,
  type JudgeResult,
  type Rubric,
} from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../core/deadline.js';
import type { Judgement } from '../judge/judge.js';
import type { ApiDeps, Call } from './deps.js';
import { isPanel, panelJudgement } from './panel.js';
import { modelFor, type Question, respondent } from './respondent.js';
import { within } from './within.js';

export function judge(deps: ApiDeps, request: JudgeRequest, call: Call): Promise<JudgeResult> {
  const { observer } = deps;
  const judged = () => within(deps, request, call, (deadline) => decide(deps, request, deadline));
  if (observer === null) return judged();
  const rubric = 'rubricName' in request ? request.rubricName : request.rubric.name;
  return observer.judgement(rubric, judged);
}

async function decide(
  deps: ApiDeps,
  request: JudgeRequest,
  deadline: Deadline,
): Promise<Judgement> {
  return answerTo(deps, { request, ...(await byRubric(deps, request)) }, deadline);
}

/** The verdict on one text, of one model or of several. */
export async function answerTo(
  deps: ApiDeps,
  question: Question,
  deadline: Deadline,
): Promise<Judgement> {
  const { request } = question;
  if (isPanel(request)) return panelJudgement(deps, question, deadline);
  return respondent(deps, question, await modelFor(deps, request, request.model)).judge(
    0,
    deadline,
  );
}

/** The rubric that a request names or carries, with what its checks need. */
export async function byRubric(
  deps: ApiDeps,
  request: { rubricName: string } | { rubric: Rubric },
): Promise<Pick<Question, 'rubric' | 'checks'>> {
  const named = 'rubricName' in request ? await deps.rubrics.get(request.rubricName) : null;
  return {
    rubric: named?.rubric ?? inlineRubric(request),
    checks: async () => ({
      // The same question has the same constants, however the rubric came.
      calibration: [...(named?.calibration ?? []), ...(await deps.rubrics.calibration())],
      allowUncalibrated: deps.allowUncalibrated,
    }),
  };
}

function inlineRubric(request: { rubricName: string } | { rubric: Rubric }): Rubric {
  if ('rubric' in request) return request.rubric;
  throw new AgentEvalError('internal_error', 'A request without a rubric passed validation.');
}
