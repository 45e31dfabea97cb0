import { writeSync } from 'node:fs';
import type { ApiDeps } from '../api/deps.js';
import { asAgentEvalError } from '../api/dispatch.js';
import { processEnvironment } from '../config/env.js';
import { type Arguments, resolveSettings } from '../config/resolve.js';
import { systemClock } from '../core/clock.js';
import { composeEngine, type Engine } from './compose.js';
import {
  catchTheRest,
  exitCode,
  keepHeapSmall,
  keepStdoutClean,
  stopSignal,
  tolerateClosedPipe,
} from './process.js';
import { VERSION_INFO } from './version-info.js';

export type RpcMode =
  | { kind: 'one-shot'; method: string | null }
  | { kind: 'session' }
  | { kind: 'batch'; method: string; failOnError: boolean };

/** Runs `agent-eval rpc` and `rpc-batch`: protocol on stdout, talk on stderr. Ends the process. */
export async function runRpc(mode: RpcMode, args: Arguments = {}): Promise<void> {
  try {
    process.exit(await serveCalls(mode, args));
  } catch (error) {
    const known = asAgentEvalError(error);
    process.stderr.write(`error (${known.code}): ${known.message}\n`);
    // Who asked one question gets one answer, also when the settings are wrong.
    if (mode.kind === 'one-shot') writeLine({ error: known.toBody() });
    process.exit(mode.kind === 'one-shot' ? known.row.exit : exitCode(known));
  }
}

/** Written at once, since the process ends right after. */
function writeLine(value: unknown): void {
  writeSync(process.stdout.fd, `${JSON.stringify(value)}\n`);
}

async function serveCalls(mode: RpcMode, args: Arguments): Promise<number> {
  keepStdoutClean();
  if (mode.kind !== 'one-shot') keepHeapSmall();
  tolerateClosedPipe();
  const env = processEnvironment();
  const resolved = resolveSettings(env, args);
  catchTheRest(resolved.settings.debug);
  let engine: Engine | undefined;
  const deps = async (): Promise<ApiDeps> => {
    engine ??= await composeEngine({ env, resolved, oneShot: mode.kind === 'one-shot' });
    return engine.deps;
  };
  const code = await runMode(mode, deps, resolved.settings.concurrency);
  await engine?.close();
  return code;
}

async function runMode(
  mode: RpcMode,
  deps: () => Promise<ApiDeps>,
  concurrency: number,
): Promise<number> {
  const stop = stopSignal();
  const streams = { input: process.stdin, output: process.stdout };
  switch (mode.kind) {
    case 'session': {
      const { runSession } = await import('../rpc/session.js');
      const { signal } = stop;
      await runSession({ ...streams, hello: VERSION_INFO, deps, clock: systemClock, signal });
      return stop.exitCode() ?? 0;
    }
    case 'batch': {
      const { runBatch } = await import('../rpc/batch.js');
      const { method, failOnError } = mode;
      const { signal } = stop;
      const totals = await runBatch({
        ...streams,
        method,
        deps: await deps(),
        concurrency,
        signal,
      });
      return stop.exitCode() ?? (failOnError && totals.failed > 0 ? 1 : 0);
    }
    default: {
      const { runOneShot } = await import('../rpc/one-shot.js');
      const { method } = mode;
      const done = await runOneShot({ ...streams, method, deps, signal: stop.signal });
      return stop.exitCode() ?? (done.ok ? 0 : done.code === 'internal_error' ? 3 : 1);
    }
  }
}
