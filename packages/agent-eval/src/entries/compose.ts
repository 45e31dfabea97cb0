import type { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { ApiDeps } from '../api/deps.js';
import { type Environment, proxySettings } from '../config/env.js';
import type { Resolved } from '../config/resolve.js';
import { systemClock } from '../core/clock.js';
import { ProviderRegistry, type RegistryOptions } from '../providers/registry.js';
import { RubricCatalog } from '../rubrics/catalog.js';
import { localModels } from './local-models.js';
import { modelRoutes } from './model-routes.js';
import { VERSION_INFO } from './version-info.js';

/** An engine put together for one process. */
export interface Engine {
  deps: ApiDeps;
  resolved: Resolved;
  env: Environment;
  close(): Promise<void>;
}

export interface ComposeOptions {
  env: Environment;
  resolved: Resolved;
  /** A process that makes one call and ends connects more cheaply than one that stays. */
  oneShot: boolean;
}

/** Puts the parts together; nothing is connected or loaded before it is needed. */
export async function composeEngine(options: ComposeOptions): Promise<Engine> {
  const { env, resolved, oneShot } = options;
  const { settings } = resolved;
  const providers = new ProviderRegistry({
    attempts: settings.attempts,
    concurrency: settings.concurrency,
    queueLimit: settings.queueLimit,
    allowCutPrompt: settings.allowCutPrompt,
    attemptTimeoutMs: settings.attemptTimeoutMs,
    createTransport: transportFactory(env, oneShot),
  });
  const local = localModels({ ...settings, env });
  const routeOf = modelRoutes(resolved, env);
  const resolveModel: ApiDeps['resolveModel'] = async ({ model, provider }) => {
    const chosen = routeOf(model, provider);
    if (chosen.kind === 'local') return { kind: 'checks', model: await local.get(chosen.model) };
    return { kind: 'text', client: await providers.client(chosen.endpoint), model: chosen.model };
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
    },
    resolved,
    env,
    async close() {
      await Promise.all([providers.close(), local.close()]);
    },
  };
}

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
