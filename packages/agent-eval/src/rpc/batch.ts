import type { Readable, Writable } from 'node:stream';
import { AgentEvalError, validationError } from '@tangle-network/agent-eval-contract';
import type { ApiDeps } from '../api/deps.js';
import { type Cancellation, Canceller } from '../core/cancel.js';
import { parseJson } from '../core/json.js';
import { lineWriter } from '../core/line-writer.js';
import { type Line, lineText, MAX_LINE_BYTES, readLines, untilStopped } from '../core/lines.js';
import { type Answer, answerOf } from './session.js';

export interface BatchOptions {
  method: string;
  input: Readable;
  output: Writable;
  deps: ApiDeps;
  /** Calls that one endpoint gets at once. */
  concurrency: number;
  signal?: AbortSignal;
}

/** A slow line holds back those after it: so many times the calls at once may be waiting behind it. */
const READ_AHEAD = 4;

/**
 * One answer a non-blank line, in the order of the lines, each as soon as those before it are out. Memory
 * is bounded by the lines worked on at once, however long the input is.
 */
export async function runBatch(options: BatchOptions): Promise<{ lines: number; failed: number }> {
  const { method, input, deps, concurrency, signal } = options;
  const writer = lineWriter(options.output);
  const totals = { lines: 0, failed: 0 };
  /** Settles line by line, in order; its oldest member bounds how far reading may run ahead. */
  const window: Promise<void>[] = [];
  let last: Promise<void> = Promise.resolve();
  const emitAfter = async (previous: Promise<void>, answer: Promise<Answer>): Promise<void> => {
    const [value] = await Promise.all([answer, previous]);
    if ('error' in value) totals.failed += 1;
    writer.write(value);
    await writer.ready();
  };
  // One listener for all lines; each line then listens to this.
  const caller = new Canceller();
  const stop = (): void => caller.stop();
  if (signal?.aborted === true) stop();
  else signal?.addEventListener('abort', stop, { once: true });
  let number = 0;
  for await (const line of readLines(untilStopped(input, signal))) {
    number += 1;
    if (line.ok && lineText(line.text) === null) continue;
    totals.lines += 1;
    last = emitAfter(last, answerLine(deps, method, line, number, caller));
    window.push(last);
    if (window.length >= concurrency * READ_AHEAD) await window.shift();
    if (writer.closed()) break;
  }
  await last;
  signal?.removeEventListener('abort', stop);
  await writer.flush();
  return totals;
}

async function answerLine(
  deps: ApiDeps,
  method: string,
  line: Line,
  number: number,
  caller: Cancellation,
): Promise<Answer> {
  if (!line.ok) {
    const error = new AgentEvalError(
      'payload_too_large',
      `Line ${number} has more than ${MAX_LINE_BYTES} bytes.`,
      { line: number },
    );
    return { error: error.toBody() };
  }
  const params = parseJson(lineText(line.text) ?? '');
  if (params === undefined) {
    const body = validationError(`Line ${number}`, [{ path: '', message: 'is not JSON' }]).toBody();
    return { error: { ...body, details: { ...body.details, line: number } } };
  }
  const answer = await answerOf(deps, method, params, caller);
  if ('result' in answer) return answer;
  return { error: { ...answer.error, details: { ...answer.error.details, line: number } } };
}
