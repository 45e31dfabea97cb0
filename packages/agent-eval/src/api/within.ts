import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { type Deadline, startDeadline } from '../core/deadline.js';
import type { ApiDeps, Call } from './deps.js';
import { refused } from './respondent.js';

/** The part of a request that says where it may go and how long it may take. */
export interface Reach {
  model?: string | undefined;
  models?: readonly string[] | undefined;
  provider?: object | undefined;
  timeoutMs?: number | undefined;
}

/** Runs a call inside its deadline, once it is clear that it may reach what it names. */
export async function within<T extends object>(
  deps: ApiDeps,
  request: Reach,
  call: Call,
  work: (deadline: Deadline) => Promise<T>,
): Promise<T & { durationMs: number }> {
  if (!call.allowProvider) {
    if (request.provider !== undefined) throw refused('provider', NO_PROVIDER);
    refuseLocalPaths(request);
  }
  const started = deps.clock.monotonic();
  const timeoutMs = request.timeoutMs ?? deps.defaultTimeoutMs;
  const deadline = startDeadline(deps.clock, timeoutMs, call.cancel);
  try {
    const answer = await work(deadline);
    return { ...answer, durationMs: Math.round(deps.clock.monotonic() - started) };
  } catch (error) {
    throw stopError(deadline) ?? error;
  } finally {
    deadline.release();
  }
}

const NO_PROVIDER = 'this server does not take endpoints from requests (--allow-request-provider)';

/** A remote caller may name a fetched model, but not make the server open files of its choice. */
function refuseLocalPaths({ model = '', models = [model] }: Reach): void {
  if (!models.some((name) => /^local\/.*([/\\]|\.gguf$)/i.test(name))) return;
  const path = model === '' ? 'models' : 'model';
  throw refused(path, 'this server takes local models by name only, not by path');
}

/** The error of a call that its deadline or its caller stopped; null for one that nothing stopped. */
function stopError(deadline: Deadline): AgentEvalError | null {
  switch (deadline.stopReason()) {
    case 'timeout':
      return new AgentEvalError(
        'timeout',
        `No answer within the deadline of ${deadline.timeoutMs} ms: raise timeoutMs of the request or --timeout-ms.`,
        { timeoutMs: deadline.timeoutMs },
      );
    case 'cancelled':
      return new AgentEvalError('cancelled', 'The caller cancelled the call.');
    default:
      return null;
  }
}

/** Whether work ended because it was called off, and not for a fault of its own. */
export function isStop(thrown: unknown): boolean {
  return !(thrown instanceof AgentEvalError) || thrown.code === 'cancelled';
}

/**
 * The error of one of several askings. A fault of the request or of the engine, and a caller who has left, are
 * no matter of one alone: those are thrown on.
 */
export function ofOneAlone(thrown: unknown, deadline: Deadline): AgentEvalError {
  const error = thrown instanceof AgentEvalError ? thrown : stopError(deadline);
  if (error === null || OF_THE_WHOLE.has(error.code)) throw thrown;
  return error;
}

const OF_THE_WHOLE: ReadonlySet<string> = new Set([
  'validation_error',
  'rubric_needs_checks',
  'cancelled',
  'internal_error',
]);
