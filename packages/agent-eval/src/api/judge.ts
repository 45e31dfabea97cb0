import {
  AgentEvalError,
  type JudgeRequest,
  type JudgeResult,
  type Rubric,
  validationError,
} from '@tangle-network/agent-eval-contract';
import { type Deadline, startDeadline } from '../core/deadline.js';
import type { Judgement } from '../judge/judge.js';
import type { ApiDeps, Call, JudgeModel } from './deps.js';
import { checksJudgement, textJudgement } from './remembered.js';

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
  if (!call.allowProvider) refuseLocalPath(request.model);
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
  const named = 'rubricName' in request ? await deps.rubrics.get(request.rubricName) : null;
  const model = await deps.resolveModel(request);
  refuseMode(request, model);
  if (model.kind === 'text') {
    return textJudgement(deps, named?.rubric ?? inlineRubric(request), request, model, deadline);
  }
  // The same question has the same constants, however the rubric came.
  const calibration = [...(named?.calibration ?? []), ...(await deps.rubrics.calibration())];
  const settings = { calibration, allowUncalibrated: deps.allowUncalibrated };
  const rubric = named?.rubric ?? inlineRubric(request);
  return checksJudgement(deps, { rubric, settings }, request, model.model, deadline);
}

function inlineRubric(request: JudgeRequest): Rubric {
  if ('rubric' in request) return request.rubric;
  throw new AgentEvalError('internal_error', 'A request without a rubric passed validation.');
}

function refuseMode(request: JudgeRequest, model: JudgeModel): void {
  const { scoreMode } = request;
  if (scoreMode === undefined || scoreMode === model.kind) return;
  const message =
    model.kind === 'checks'
      ? 'a local model judges by checks only; leave scoreMode out, or use a hosted model'
      : 'checks are answered by local models only; leave scoreMode out, or use a local/ model';
  throw refused('scoreMode', message);
}

function refused(path: string, message: string): AgentEvalError {
  return validationError('Invalid judge request', [{ path, message }]);
}

const NO_PROVIDER = 'this server does not take endpoints from requests (--allow-request-provider)';

/** A remote caller may name a fetched model, but not make the server open files of its choice. */
function refuseLocalPath(model: string | undefined): void {
  if (model === undefined || !/^local\/.*([/\\]|\.gguf$)/i.test(model)) return;
  throw refused('model', 'this server takes local models by name only, not by path');
}

function stopError(deadline: Deadline): AgentEvalError | null {
  switch (deadline.stopReason()) {
    case 'timeout':
      return new AgentEvalError(
        'timeout',
        `No verdict within the deadline of ${deadline.timeoutMs} ms: raise timeoutMs of the request or --timeout-ms.`,
        { timeoutMs: deadline.timeoutMs },
      );
    case 'cancelled':
      return new AgentEvalError('cancelled', 'The caller cancelled the judgement.');
    default:
      return null;
  }
}
