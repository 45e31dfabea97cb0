import type { Readable, Writable } from 'node:stream';
import {
  AgentEvalError,
  type ErrorBody,
  isMethodName,
  METHODS,
  type VersionInfo,
  validationError,
} from '@tangle-network/agent-eval-contract';
import type { ApiDeps } from '../api/deps.js';
import { asAgentEvalError, dispatch } from '../api/dispatch.js';
import { type Cancellation, Canceller } from '../core/cancel.js';
import type { Clock } from '../core/clock.js';
import { parseJson } from '../core/json.js';
import { type LineWriter, lineWriter } from '../core/line-writer.js';
import { type Line, lineText, MAX_LINE_BYTES, readLines, untilStopped } from '../core/lines.js';

type RequestId = string | number;

export interface SessionOptions {
  input: Readable;
  output: Writable;
  hello: VersionInfo;
  /** Loads the engine; called after the hello, so that the caller is greeted at once. */
  deps: () => Promise<ApiDeps>;
  clock: Clock;
  /** Ends the reading; calls in flight get the same grace as at the end of the input. */
  signal?: AbortSignal;
  /** How long calls in flight may go on after the end of the input. */
  graceMs?: number;
}

const DEFAULT_GRACE_MS = 5_000;

/** Serves a long-lived conversation: many calls in flight, answers in any order, until the input ends. */
export async function runSession(options: SessionOptions): Promise<void> {
  const writer = lineWriter(options.output);
  writer.write({ hello: options.hello });
  const session = new Session(await options.deps(), writer);
  for await (const line of readLines(untilStopped(options.input, options.signal))) {
    session.receive(line);
    await writer.ready();
    if (writer.closed()) break;
  }
  await session.end(options.clock, writer.closed() ? 0 : (options.graceMs ?? DEFAULT_GRACE_MS));
  await writer.flush();
}

class Session {
  readonly #deps: ApiDeps;
  readonly #writer: LineWriter;
  readonly #inFlight = new Map<RequestId, Canceller>();
  #onIdle: (() => void) | undefined;

  constructor(deps: ApiDeps, writer: LineWriter) {
    this.#deps = deps;
    this.#writer = writer;
  }

  receive(line: Line): void {
    if (!line.ok) {
      const message = `A line may have ${MAX_LINE_BYTES} bytes at most.`;
      this.#refuse(null, new AgentEvalError('payload_too_large', message));
      return;
    }
    const text = lineText(line.text);
    if (text === null) return;
    const message = parseJson(text);
    if (message === undefined) {
      this.#refuse(null, invalid('The line is not JSON'));
      return;
    }
    this.#handle(message);
  }

  async end(clock: Clock, graceMs: number): Promise<void> {
    if (this.#inFlight.size > 0 && graceMs > 0) {
      await new Promise<void>((resolve) => {
        const cancel = clock.setTimer(resolve, graceMs);
        this.#onIdle = () => {
          cancel();
          resolve();
        };
      });
    }
    for (const canceller of this.#inFlight.values()) canceller.stop();
  }

  #handle(message: unknown): void {
    const fields = typeof message === 'object' && message !== null ? message : {};
    const id = 'id' in fields ? fields.id : undefined;
    if (!isRequestId(id)) {
      this.#refuse(null, invalid('id must be a string or an integer'));
      return;
    }
    if ('cancel' in fields && fields.cancel === true) {
      this.#inFlight.get(id)?.stop();
      return;
    }
    if (this.#inFlight.has(id)) {
      this.#refuse(id, invalid('id is in use by a call in flight'));
      return;
    }
    const method = 'method' in fields ? fields.method : undefined;
    if (typeof method !== 'string') {
      this.#refuse(id, invalid('method must be a string'));
      return;
    }
    void this.#run(id, method, 'params' in fields ? fields.params : {});
  }

  async #run(id: RequestId, method: string, params: unknown): Promise<void> {
    const canceller = new Canceller();
    this.#inFlight.set(id, canceller);
    const answer = await answerOf(this.#deps, method, params, canceller);
    this.#inFlight.delete(id);
    this.#writer.write({ id, ...answer });
    if (this.#inFlight.size === 0) this.#onIdle?.();
  }

  #refuse(id: RequestId | null, error: AgentEvalError): void {
    this.#writer.write({ id, error: error.toBody() });
  }
}

function invalid(message: string): AgentEvalError {
  return validationError('Invalid message', [{ path: '', message }]);
}

export type Answer = { result: unknown } | { error: ErrorBody };

/** Runs one method; a failure is an answer too. */
export async function answerOf(
  deps: ApiDeps,
  method: string,
  params: unknown,
  cancel?: Cancellation,
): Promise<Answer> {
  try {
    if (isMethodName(method) && !METHODS[method].stdio) throw notOnStdio(method);
    return { result: await dispatch(deps, method, params, { cancel, allowProvider: true }) };
  } catch (error) {
    const known = asAgentEvalError(error);
    if (known.code === 'internal_error') deps.onFault(known);
    return { error: known.toBody() };
  }
}

function notOnStdio(method: string): AgentEvalError {
  return validationError('Unknown method', [
    { path: 'method', message: `${method} is answered over HTTP only` },
  ]);
}

function isRequestId(id: unknown): id is RequestId {
  return typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id));
}
