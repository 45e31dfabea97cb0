import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  AgentEvalError,
  type BatchOutcome,
  type JudgeResult,
  MAX_BATCH_ID_LENGTH,
  validationError,
} from '@tangle-network/agent-eval-contract';
import type { ApiDeps } from '../api/deps.js';
import { asAgentEvalError, dispatch } from '../api/dispatch.js';
import { Canceller } from '../core/cancel.js';
import { parseJson } from '../core/json.js';
import { type LineWriter, lineWriter } from '../core/line-writer.js';
import { type Line, lineText, readLines } from '../core/lines.js';
import { Slots } from '../core/slots.js';
import { checkAccepting } from './guards.js';

export interface BatchOptions {
  deps: ApiDeps;
  allowProvider: boolean;
  /** Longest line in bytes. */
  lineLimitBytes: number;
  /** Calls that one endpoint gets at once. */
  concurrency: number;
  /** False once the server has been told to stop: lines that have not begun are then refused. */
  accepting: () => boolean;
  onFault: (error: AgentEvalError) => void;
}

/** Lines that are done within so long of each other leave together. */
const LINGER_MS = 5;

/** So many times the calls at once are read ahead. */
const READ_AHEAD = 2;

type Id = BatchOutcome['id'];

/** Refuses a body that is not lines of JSON. */
export function checkLinesType(type: string | undefined): void {
  if (/^application\/(?:x-ndjson|ndjson|jsonl|x-jsonlines)\s*(?:;|$)/i.test(type ?? '')) return;
  throw new AgentEvalError(
    'unsupported_media_type',
    'Send the batch as lines of JSON, with "Content-Type: application/x-ndjson".',
    { contentType: (type ?? '').slice(0, 100) },
  );
}

/**
 * Answers each line as it is done, in any order. A caller that does not read stops the reading of its lines,
 * so memory is bounded by the lines worked on at once; a caller that leaves cancels what is left.
 */
export async function runBatch(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  requestId: string,
  options: BatchOptions,
): Promise<void> {
  outgoing.writeHead(200, { 'content-type': 'application/x-ndjson', 'x-request-id': requestId });
  outgoing.flushHeaders();
  const writer = lineWriter(outgoing, LINGER_MS);
  const caller = new Canceller();
  outgoing.once('close', () => caller.stop());
  // Some lines wait for a free place at the endpoint, so that none stays free while a line is read.
  const slots = new Slots(options.concurrency * READ_AHEAD);
  let index = 0;
  try {
    for await (const line of readLines(incoming, options.lineLimitBytes)) {
      if (line.ok && lineText(line.text) === null) continue;
      slots.take();
      void answerLine(line, index, caller, writer, options).then(() => slots.free());
      index += 1;
      await slots.ready();
      await writer.ready();
      if (writer.closed()) break;
    }
  } catch {
    // The caller has left in the middle of its lines.
    caller.stop();
  }
  await slots.idle();
  await writer.flush();
  outgoing.end();
}

async function answerLine(
  line: Line,
  index: number,
  caller: Canceller,
  writer: LineWriter,
  options: BatchOptions,
): Promise<void> {
  let id: Id;
  let outcome: BatchOutcome;
  try {
    const { id: given, ...params } = readLine(line);
    id = readId(given);
    checkAccepting(options.accepting);
    const call = { allowProvider: options.allowProvider, cancel: caller };
    const result = (await dispatch(options.deps, 'judge', params, call)) as JudgeResult;
    outcome = { index, ...named(id), outcome: 'scored', result };
  } catch (error) {
    const known = asAgentEvalError(error);
    if (known.code === 'internal_error') options.onFault(known);
    outcome = { index, ...named(id), outcome: 'unscored', error: known.toBody() };
  }
  writer.write(outcome);
}

const named = (id: Id): { id?: Id } => (id === undefined ? {} : { id });

function readLine(line: Line): Record<string, unknown> {
  if (!line.ok) {
    throw new AgentEvalError(
      'payload_too_large',
      'The line is longer than the body limit: send less, or raise --body-limit.',
    );
  }
  const value = parseJson(lineText(line.text) ?? '');
  if (value === undefined) {
    throw validationError('Invalid line', [{ path: '', message: 'is not JSON' }]);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw validationError('Invalid line', [{ path: '', message: 'must be a JSON object' }]);
}

function readId(id: unknown): Id {
  if (id === undefined || Number.isSafeInteger(id)) return id as Id;
  if (typeof id === 'string' && id.length <= MAX_BATCH_ID_LENGTH) return id;
  throw validationError('Invalid line', [
    {
      path: 'id',
      message: `must be an integer, or a string of at most ${MAX_BATCH_ID_LENGTH} characters`,
    },
  ]);
}
