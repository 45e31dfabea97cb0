import {
  AgentEvalError,
  type JudgeRequest,
  type JudgeResult,
  type Rubric,
} from '@tangle-network/agent-eval-contract';
import { type Deadline, startDeadline } from '../core/deadline.js';
import type { Judgement } from '../judge/judge.js';
import type { ApiDeps, Call } from './deps.js';
import { isPanel, panelJudgement } from './panel.js';
import { modelFor, type Question, refused, respondent } from './respondent.js';
import { stopError } from './stop-error.js';

export function judge(deps: ApiDeps, request: JudgeRequest, call: Call): Promise<JudgeResult> {
  const { observer } = deps;
  if (observer === null) return judged(deps, request, call);
  const rubric = 'rubricName' in request ? request.rubricName : request.rubric.name;
  return observer.judgement(rubric, () => judged(deps, request, call));
}

async function judged(deps: ApiDeps, request: JudgeRequest, call: Call): Promise<JudgeResult> {
  if (request.provider !== undefined && !call.allowProvider) {
    throw refused('provider', NO_PROVIDER);
  }
  if (!call.allowProvider) refuseLocalPaths(request);
  const started = deps.clock.monotonic();
  const timeoutMs = request.timeoutMs ?? deps.defaultTimeoutMs;
  const deadline = startDeadline(deps.clock, timeoutMs, call.cancel);
  try {
    const judgement = await decide(deps, request, deadline);
    return { ...judgement, durationMs: Math.round(deps.clock.monotonic() - started) };
  } catch (error) {
    throw stopError(deadline) ?? error;
  } finally {
    deadline.release();
  }
}

async function decide(
  deps: ApiDeps,
  request: JudgeRequest,
  deadline: Deadline,
): Promise<Judgement> {
  const question = await questionOf(deps, request);
  if (isPanel(request)) return panelJudgement(deps, question, deadline);
  const model = await modelFor(deps, request, request.model);
  return respondent(deps, question, model).judge(0, deadline);
}

async function questionOf(deps: ApiDeps, request: JudgeRequest): Promise<Question> {
  const named = 'rubricName' in request ? await deps.rubrics.get(request.rubricName) : null;
  return {
    request,
    rubric: named?.rubric ?? inlineRubric(request),
    checks: async () => ({
      // The same question has the same constants, however the rubric came.
      calibration: [...(named?.calibration ?? []), ...(await deps.rubrics.calibration())],
      allowUncalibrated: deps.allowUncalibrated,
    }),
  };
}

function inlineRubric(request: JudgeRequest): Rubric {
  if ('rubric' in request) return request.rubric;
  throw new AgentEvalError('internal_error', 'A request without a rubric passed validation.');
}

const NO_PROVIDER = 'this server does not take endpoints from requests (--allow-request-provider)';

/** A remote caller may name a fetched model, but not make the server open files of its choice. */
function refuseLocalPaths({ model = '', models = [model] }: JudgeRequest): void {
  if (!models.some((name) => /^local\/.*([/\\]|\.gguf$)/i.test(name))) return;
  const path = model === '' ? 'models' : 'model';
  throw refused(path, 'this server takes local models by name only, not by path');
}
