import { AgentEvalError, type JudgeResult } from '@tangle-network/agent-eval-contract';
import { dispatch } from '../api/dispatch.js';
import { processEnvironment } from '../config/env.js';
import { type Arguments, resolveSettings } from '../config/resolve.js';
import { cancellationOf } from '../core/cancel.js';
import { composeEngine } from '../entries/compose.js';
import { exitCode, stopSignal } from '../entries/process.js';
import { passesGate } from '../judge/score.js';
import type { JudgeFields } from './judge-flags.js';
import { rubricName } from './judge-input.js';
import { verdictLines } from './judge-output.js';
import { type Output, tellError } from './output.js';

const BELOW_GATE = 4;
const NO_VERDICT = 5;

export interface JudgeJob {
  content: string;
  /** Name of a rubric, or a file with one. */
  rubric: string;
  context?: Record<string, unknown>;
  /** Lowest composite that passes. */
  gate: number | undefined;
  json: boolean;
  raw: boolean;
  fields: JudgeFields;
}

/** Judges one text, prints the verdict, and gives the exit code. */
export async function judgeText(job: JudgeJob, args: Arguments, output: Output): Promise<number> {
  const env = processEnvironment();
  const resolved = resolveSettings(env, args);
  const engine = await composeEngine({ env, resolved, oneShot: true });
  const stop = stopSignal();
  try {
    const params = {
      content: job.content,
      rubricName: await rubricName(job.rubric, engine.deps.rubrics),
      ...(job.context !== undefined && { context: job.context }),
      ...(job.raw && { includeRaw: true }),
      ...job.fields,
    };
    const call = { cancel: cancellationOf(stop.signal), allowProvider: true };
    const result = (await dispatch(engine.deps, 'judge', params, call)) as JudgeResult;
    if (job.json) output.json(result);
    else for (const line of verdictLines(result, output)) output.data(line);
    if (job.gate === undefined || passesGate(result.composite, job.gate)) return 0;
    output.talk(`below the gate: ${result.composite} < ${job.gate}`);
    return BELOW_GATE;
  } catch (error) {
    if (!(error instanceof AgentEvalError)) throw error;
    if (job.json) output.json({ error: error.toBody() });
    tellError(output, error, resolved.settings.debug);
    const unscored = job.gate !== undefined && error.code.startsWith('judge_');
    return stop.exitCode() ?? (unscored ? NO_VERDICT : exitCode(error));
  } finally {
    await engine.close();
  }
}
