import { readFile } from 'node:fs/promises';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { isLoopback } from '../config/base-url.js';
import { processEnvironment, secretValues } from '../config/env.js';
import { type Arguments, resolveSettings, type Settings } from '../config/resolve.js';
import { systemClock } from '../core/clock.js';
import { both } from '../core/observer.js';
import { redactor } from '../core/redact.js';
import { type AnswerFacts, createApp } from '../http/app.js';
import { listen } from '../http/listen.js';
import { Logs } from '../telemetry/logs.js';
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
  const logs = new Logs({
    level: settings.logLevel,
    format: settings.logFormat,
    write: (line) => void process.stderr.write(line),
    redact: redactor(secretValues(env)),
    monotonic: systemClock.monotonic,
  });
  const metrics = new Metrics({
    monotonic: systemClock.monotonic,
    load: () => engine.load(),
  });
  const engine: Engine = await composeEngine({
    env,
    resolved,
    oneShot: false,
    observer: both(metrics, logs.observer()),
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
    onAnswer: (facts) => {
      if (facts.method !== null) void metrics.request(facts.method, facts.status);
      logAnswer(logs, facts);
    },
    onFault: (error, requestId) => {
      const { cause } = error;
      const stack = settings.debug && cause instanceof Error ? { stack: cause.stack } : {};
      logs.error(error.message, { requestId, ...stack });
    },
  });
  const server = await listen(app, {
    host: settings.host,
    port: settings.port,
    clock: systemClock,
  });
  logs.info('listening', { url: server.url });
  process.stdout.write(`agent-eval listening on ${server.url}\n`);
  await new Promise<void>((resolve) => {
    if (stop.signal.aborted) resolve();
    else stop.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  logs.info('stopping');
  await server.close(settings.drainMs);
  await engine.close();
  await logs.flush();
  return 0;
}

/** A failure that is not the caller's fault is a warning. */
function logAnswer(logs: Logs, { error, method, ...facts }: AnswerFacts): void {
  const failed = error !== null && facts.status >= 500;
  if (!logs.has(failed ? 'warn' : 'info')) return;
  const { code } = error ?? {};
  const fields = {
    ...(method !== null && { method }),
    ...facts,
    ...(code !== undefined && { code }),
    ...(failed && { error: error.message }),
  };
  if (failed) logs.warn('request', fields);
  else logs.info('request', fields);
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
