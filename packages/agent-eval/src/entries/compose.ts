import { readFile } from 'node:fs/promises';
import { type AgentEvalError, validationError } from '@tangle-network/agent-eval-contract';
import type { ApiDeps } from '../api/deps.js';
import type { VerdictCache } from '../cache/verdict-cache.js';
import { type Environment, proxySettings, variable } from '../config/env.js';
import type { Resolved } from '../config/resolve.js';
import { systemClock } from '../core/clock.js';
import { both, type Observer } from '../core/observer.js';
import { Prices, readPrices } from '../ledger/prices.js';
import { endpointAddress } from '../providers/endpoint-address.js';
import { ObservedClient } from '../providers/observed-client.js';
import { ProviderRegistry, type RegistryOptions } from '../providers/registry.js';
import { RubricCatalog } from '../rubrics/catalog.js';
import type { Tracing } from '../telemetry/tracing.js';
import { localModels } from './local-models.js';
import { modelRoutes } from './model-routes.js';
import { verdictCache } from './verdict-cache.js';
import { VERSION_INFO } from './version-info.js';

/** An engine put together for one process. */
export interface Engine {
  deps: ApiDeps;
  resolved: Resolved;
  env: Environment;
  /** Null where no cache is wanted. */
  cache: VerdictCache | null;
  /** Calls to providers in flight, and those that wait. */
  load(): Promise<{ running: number; waiting: number }>;
  close(): Promise<void>;
}

export interface ComposeOptions {
  env: Environment;
  resolved: Resolved;
  /** A process that makes one call and ends connects more cheaply than one that stays. */
  oneShot: boolean;
  /** Looks on while the engine works; nothing is paid where nobody does. */
  observer?: Observer;
  onCacheLookup?: (hit: boolean) => void;
}

/** Puts the parts together; nothing is connected or loaded before it is needed. */
export async function composeEngine(options: ComposeOptions): Promise<Engine> {
  const { env, resolved, oneShot } = options;
  const { settings } = resolved;
  const prices = await pricesOf(settings.prices);
  const providers = new ProviderRegistry({
    pricesAt: (origin) => prices.at(origin),
    attempts: settings.attempts,
    concurrency: settings.concurrency,
    queueLimit: settings.queueLimit,
    allowCutPrompt: settings.allowCutPrompt,
    attemptTimeoutMs: settings.attemptTimeoutMs,
    createTransport: transportFactory(env, oneShot),
  });
  const local = localModels({ ...settings, env });
  const tracing = await tracingOf(resolved, env);
  const traced = tracing?.observer;
  const observer =
    options.observer === undefined ? (traced ?? null) : both(options.observer, traced);
  const cache =
    settings.cache === null
      ? null
      : await verdictCache(settings, settings.cache, options.onCacheLookup);
  const routeOf = modelRoutes(resolved, env);
  const resolveModel: ApiDeps['resolveModel'] = async ({ model, provider }) => {
    const chosen = routeOf(model, provider);
    if (chosen.kind === 'local') return { kind: 'checks', model: await local.get(chosen.model) };
    const { endpoint, model: name } = chosen;
    const plain = await providers.client(endpoint);
    const client = observer === null ? plain : new ObservedClient(plain, observer);
    return { kind: 'text', client, model: name, address: endpointAddress(endpoint) };
  };
  return {
    deps: {
      version: VERSION_INFO,
      rubrics: await RubricCatalog.open(settings.rubricsDir),
      clock: systemClock,
      defaultTimeoutMs: settings.timeoutMs,
      allowUncalibrated: settings.allowUncalibrated,
      onFault: settings.debug ? tellFault : () => {},
      resolveModel,
      memory: cache,
      observer,
    },
    cache,
    load: () => providers.load(),
    resolved,
    env,
    async close() {
      await Promise.all([providers.close(), local.close(), cache?.close(), tracing?.close()]);
    },
  };
}

export async function pricesOf(file: string | null): Promise<Prices> {
  if (file === null) return new Prices();
  const text = await readFile(file, 'utf8').catch(() => {
    throw validationError('The price file', [
      { path: 'prices', message: `${file} can't be read: check --prices or AGENT_EVAL_PRICES` },
    ]);
  });
  return readPrices(text, file);
}

/** Tracing is loaded where a collector is named, unless AGENT_EVAL_OTEL says otherwise. */
async function tracingOf(
  { settings, sources }: Resolved,
  env: Environment,
): Promise<Tracing | null> {
  const named = COLLECTOR.some((name) => variable(env, name) !== undefined);
  const wanted = sources.otel === 'default' ? named : settings.otel;
  if (!wanted) return null;
  const { startTracing } = await import('../telemetry/tracing.js');
  return startTracing({ version: VERSION_INFO.version, content: settings.otelContent });
}

const COLLECTOR = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];

function tellFault(error: AgentEvalError): void {
  const cause = error.cause instanceof Error ? error.cause : error;
  process.stderr.write(`${error.message}\n${cause.stack}\n`);
}

export function transportFactory(
  env: Environment,
  oneShot: boolean,
): RegistryOptions['createTransport'] {
  const proxy = proxySettings(env);
  return async ({ origin, loopback }, connections) => {
    const scheme = origin.startsWith('https:') ? proxy.httpsProxy : proxy.httpProxy;
    const proxied = !loopback && scheme !== undefined;
    if (oneShot && !proxied) {
      const { nodeTransport } = await import('../providers/transport-node.js');
      const { library } = origin.startsWith('https:')
        ? await import('../providers/node-https.js')
        : await import('../providers/node-http.js');
      return nodeTransport(origin, library);
    }
    const { undiciTransport } = await import('../providers/transport-undici.js');
    return undiciTransport({ origin, connections, proxy: proxied ? proxy : null });
  };
}
