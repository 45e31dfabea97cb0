import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { dispatch } from '../api/dispatch.js';
import { processEnvironment } from '../config/env.js';
import { type Arguments, resolveSettings } from '../config/resolve.js';
import { cancellationOf } from '../core/cancel.js';
import { composeEngine } from '../entries/compose.js';
import { exitCode, stopSignal } from '../entries/process.js';
import { rubricName } from './judge-input.js';
import { type Output, tellError } from './output.js';

export interface OneCall<T> {
  method: 'judge' | 'compare';
  /** Name of a rubric, or a file with one. */
  rubric: string;
  /** Everything else; what is undefined is left out. */
  params: Record<string, unknown>;
  json: boolean;
  /** Lines for people. */
  lines(result: T): string[];
  /** Exit code of a call that was answered. */
  code?(result: T): number;
  /** Exit code of one that was not, where it is not that of the error. */
  errorCode?(error: AgentEvalError): number | null;
}

/** Makes one call with an engine of its own, prints what comes back, and gives the exit code. */
export async function oneCall<T>(
  call: OneCall<T>,
  args: Arguments,
  output: Output,
): Promise<number> {
  const env = processEnvironment();
  const resolved = resolveSettings(env, args);
  const engine = await composeEngine({ env, resolved, oneShot: true });
  const stop = stopSignal();
  try {
    const given = Object.entries(call.params).filter(([, value]) => value !== undefined);
    const params = {
      rubricName: await rubricName(call.rubric, engine.deps.rubrics),
      ...Object.fromEntries(given),
    };
    const how = { cancel: cancellationOf(stop.signal), allowProvider: true };
    const result = (await dispatch(engine.deps, call.method, params, how)) as T;
    if (call.json) output.json(result);
    else for (const line of call.lines(result)) output.data(line);
    return call.code?.(result) ?? 0;
  } catch (error) {
    if (!(error instanceof AgentEvalError)) throw error;
    if (call.json) output.json({ error: error.toBody() });
    tellError(output, error, resolved.settings.debug);
    return stop.exitCode() ?? call.errorCode?.(error) ?? exitCode(error);
  } finally {
    await engine.close();
  }
}
