import { setMaxListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import type { AgentEvalError } from '@tangle-network/agent-eval-contract';

/** Ends the process quietly when the reader of stdout has gone, as `| head -1` does. */
export function tolerateClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

/** Sends whatever a library prints to stderr: stdout belongs to data. */
export function keepStdoutClean(): void {
  const { error } = console;
  for (const method of ['log', 'info', 'debug', 'dir', 'table'] as const) console[method] = error;
}

/**
 * For processes that stay: the heap may grow by half before old objects are collected. V8's own choice keeps
 * a quarter more memory after a burst of calls, and is not faster here (bench/memory.mjs).
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=50');
}

/** One line instead of a stack trace for what nobody caught. */
export function catchTheRest(debug: boolean): void {
  const report = (error: unknown): void => {
    const message = error instanceof Error ? error.message : String(error);
    const stack = debug && error instanceof Error ? `\n${error.stack ?? ''}` : '';
    process.stderr.write(`agent-eval: unexpected error: ${message}${stack}\n`);
    process.exit(3);
  };
  process.on('uncaughtException', report);
  process.on('unhandledRejection', report);
}

/** A signal that fires at the first SIGINT or SIGTERM; a second one ends the process at once. */
export function stopSignal(): { signal: AbortSignal; exitCode: () => number | null } {
  const controller = new AbortController();
  // Every call in flight listens; Node would warn of a leak at the eleventh.
  setMaxListeners(0, controller.signal);
  let exitCode: number | null = null;
  const stop = (code: number) => (): void => {
    if (exitCode !== null) process.exit(code);
    exitCode = code;
    controller.abort();
  };
  process.on('SIGINT', stop(130));
  process.on('SIGTERM', stop(143));
  return { signal: controller.signal, exitCode: () => exitCode };
}

export const USAGE_EXIT_CODE = 2;

/** At a shell, what is wrong with the input is a matter of usage. */
export function exitCode(error: AgentEvalError): number {
  return error.code === 'validation_error' ? USAGE_EXIT_CODE : error.row.exit;
}
