import type {
  ChatRequest,
  ChatResult,
  CompareRequest,
  CompareResult,
  JudgeRequest,
  JudgeResult,
  RubricDetail,
  RubricInput,
  RubricList,
  VersionInfo,
} from '@tangle-network/agent-eval-contract';
import { dispatch } from '../api/dispatch.js';
import { type Environment, processEnvironment } from '../config/env.js';
import { type Arguments, resolveSettings } from '../config/resolve.js';
import { cancellationOf } from '../core/cancel.js';
import { composeEngine } from './compose.js';

type ByRubric = { rubricName: string } | { rubric: RubricInput };

/** A request as a program may write it: what has a default may be left out. */
export type JudgeInput = Omit<JudgeRequest, 'rubric' | 'rubricName'> & ByRubric;
export type CompareInput = Omit<CompareRequest, 'rubric' | 'rubricName'> & ByRubric;

export interface EngineOptions {
  /** Settings by name, before the environment and the defaults; see `agent-eval config`. */
  settings?: Arguments;
  /** Environment to read; default: that of the process. */
  env?: Environment;
}

export interface CallOptions {
  /** Cancels the call, down to the socket. */
  signal?: AbortSignal;
}

/** The engine inside a program: the methods of the API without a transport. */
export interface AgentEval {
  /** Judges a text. Rejects with `AgentEvalError`; a failed judge is never a score. */
  judge(request: JudgeInput, options?: CallOptions): Promise<JudgeResult>;
  /** Tells which of two texts is better, asked in both orders. */
  compare(request: CompareInput, options?: CallOptions): Promise<CompareResult>;
  /** Takes a turn of a conversation, tools included, in the shape of chat completions. */
  chat(request: ChatRequest, options?: CallOptions): Promise<ChatResult>;
  listRubrics(): Promise<RubricList>;
  getRubric(name: string): Promise<RubricDetail>;
  version(): Promise<VersionInfo>;
  /** Closes connections and unloads a local model. */
  close(): Promise<void>;
}

/** Makes an engine for this process. Nothing is connected or loaded before the first call. */
export async function createAgentEval(options: EngineOptions = {}): Promise<AgentEval> {
  const env = options.env ?? processEnvironment();
  const resolved = resolveSettings(env, options.settings);
  const engine = await composeEngine({ env, resolved, oneShot: false });
  const call = (method: string, params: unknown, signal?: AbortSignal): Promise<unknown> =>
    dispatch(engine.deps, method, params, {
      cancel: signal && cancellationOf(signal),
      allowProvider: true,
    });
  return {
    judge: (request, { signal } = {}) => call('judge', request, signal) as Promise<JudgeResult>,
    compare: (request, { signal } = {}) =>
      call('compare', request, signal) as Promise<CompareResult>,
    chat: (request, { signal } = {}) => call('chat', request, signal) as Promise<ChatResult>,
    listRubrics: () => call('listRubrics', {}) as Promise<RubricList>,
    getRubric: (name) => call('getRubric', { name }) as Promise<RubricDetail>,
    version: () => call('version', {}) as Promise<VersionInfo>,
    close: () => engine.close(),
  };
}
