import type { Readable, Writable } from 'node:stream';
import { AgentEvalError, validationError } from '@tangle-network/agent-eval-contract';
import type { ApiDeps } from '../api/deps.js';
import { cancellationOf } from '../core/cancel.js';
import { parseJson } from '../core/json.js';
import { lineWriter } from '../core/line-writer.js';
import { lineText, untilStopped } from '../core/lines.js';
import { type Answer, answerOf } from './session.js';

/** Largest input of a one-shot call. */
const MAX_INPUT_BYTES = 64 * 1024 * 1024;

export interface OneShotOptions {
  /** Null reads `{method, params}` from the input. */
  method: string | null;
  input: Readable;
  output: Writable;
  deps: () => Promise<ApiDeps>;
  signal?: AbortSignal;
}

/** Reads one JSON value, answers with one line. Tells whether the call succeeded. */
export async function runOneShot(options: OneShotOptions): Promise<{ ok: boolean; code?: string }> {
  const answer = await answerInput(options);
  const writer = lineWriter(options.output);
  writer.write(answer);
  await writer.flush();
  return 'result' in answer ? { ok: true } : { ok: false, code: answer.error.code };
}

async function answerInput({ method, input, deps, signal }: OneShotOptions): Promise<Answer> {
  const text = lineText(await readAll(input, signal)) ?? '{}';
  if (signal?.aborted === true)
    return { error: new AgentEvalError('cancelled', 'Stopped.').toBody() };
  const value = parseJson(text);
  if (value === undefined) return invalid('the input is not JSON');
  if (method !== null)
    return answerOf(await deps(), method, value, signal && cancellationOf(signal));
  const fields = typeof value === 'object' && value !== null ? value : {};
  if (!('method' in fields) || typeof fields.method !== 'string') {
    return invalid('the input must be {"method": …, "params": …}');
  }
  const params = 'params' in fields ? fields.params : {};
  return answerOf(await deps(), fields.method, params, signal && cancellationOf(signal));
}

async function readAll(input: Readable, signal: AbortSignal | undefined): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of untilStopped(input, signal)) {
    size += chunk.byteLength;
    if (size > MAX_INPUT_BYTES) {
      throw validationError('Invalid input', [
        { path: '', message: `has more than ${MAX_INPUT_BYTES} bytes` },
      ]);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function invalid(message: string): Answer {
  return { error: validationError('Invalid input', [{ path: '', message }]).toBody() };
}
