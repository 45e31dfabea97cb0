import type { JudgeResult } from '@tangle-network/agent-eval-contract';
import type { Arguments } from '../config/resolve.js';
import { passesGate } from '../judge/score.js';
import type { JudgeFields } from './judge-flags.js';
import { verdictLines } from './judge-output.js';
import { oneCall } from './one-call.js';
import type { Output } from './output.js';

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
export function judgeText(job: JudgeJob, args: Arguments, output: Output): Promise<number> {
  const { content, rubric, context, gate, json, raw, fields } = job;
  return oneCall<JudgeResult>(
    {
      method: 'judge',
      rubric,
      params: { content, context, includeRaw: raw || undefined, ...fields },
      json,
      lines: (result) => verdictLines(result, output),
      code({ composite }) {
        if (gate === undefined || passesGate(composite, gate)) return 0;
        output.talk(`below the gate: ${composite} < ${gate}`);
        return BELOW_GATE;
      },
      errorCode: ({ code }) =>
        gate !== undefined && code.startsWith('judge_') ? NO_VERDICT : null,
    },
    args,
    output,
  );
}
