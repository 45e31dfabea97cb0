import { readFile } from 'node:fs/promises';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { isLoopback } from '../config/base-url.js';
import { processEnvironment } from '../config/env.js';
import { type Arguments, resolveSettings, type Settings } from '../config/resolve.js';
import { systemClock } from '../core/clock.js';
import { createApp } from '../http/app.js';
import { listen } from '../http/listen.js';
import { Metrics } from '../telemetry/metrics.js';
import { composeEngine, type Engine } from './compose.js';
import { catchTheRest, keepHeapSmall, keepStdoutClean, stopSignal } from './process.js';

/** Runs `agent-eval serve` until SIGINT or SIGTERM. Returns the exit code. */
export async function runServe(args: Arguments): Promise<number> {
  keepStdoutClean();
  keepHeapSmall();
  const env = processEnvironment();
  const resolved = resolveSettings(env, args);
  const { settings } = resolved;
  catchTheRest(settings.debug);
  const token = await tokenOf(settings);
  const loopback = isLoopback(settings.host);
  if (!loopback && token === null) throw tokenNeeded(settings.host);
  const metrics = new Metrics({
    monotonic: systemClock.monotonic,
    load: () => engine.load(),
  });
  const engine: Engine = await composeEngine({
    env,
    resolved,
    oneShot: false,
    observer: metrics,
    onCacheLookup: (hit) => metrics.lookup(hit),
  });
  // Who starts a server learns now, not from the first request, that the cache can't be used.
  await engine.cache?.file();
  const stop = stopSignal();
  const app = createApp(engine.deps, {
    token,
    loopback,
    metrics,
    allowedHosts: settings.allowedHosts ?? [],
    bodyLimitBytes: settings.bodyLimitBytes,
    allowRequestProvider: settings.allowRequestProvider,
    concurrency: settings.concurrency,
    accepting: () => !stop.signal.aborted,
    onFault: (error, requestId) => {
      const cause = settings.debug && error.cause instanceof Error ? `\n${error.cause.stack}` : '';
      process.stderr.write(`request ${requestId}: ${error.message}${cause}\n`);
    },
  });
  const server = await listen(app, {
    host: settings.host,
    port: settings.port,
    clock: systemClock,
  });
  process.stdout.write(`agent-eval listening on ${server.url}\n`);
  await new Promise<void>((resolve) => {
    if (stop.signal.aborted) resolve();
    else stop.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  process.stderr.write('agent-eval: stopping; a second signal stops at once\n');
  await server.close(settings.drainMs);
  await engine.close();
  return 0;
}

async function tokenOf(settings: Settings): Promise<string | null> {
  if (settings.tokenFile === null) return settings.token;
  const text = await readFile(settings.tokenFile, 'utf8').catch(() => '');
  if (text.trim() !== '') return text.trim();
  throw new AgentEvalError(
    'validation_error',
    `The token file ${settings.tokenFile} is empty or can't be read.`,
  );
}

function tokenNeeded(host: string): AgentEvalError {
  return new AgentEvalError(
    'validation_error',
    `Listening on ${host} lets other machines call: set AGENT_EVAL_TOKEN or --token-file, or listen on 127.0.0.1.`,
  );
}
