import type { ProviderChoice } from '@tangle-network/agent-eval-contract';
import type { Environment } from '../config/env.js';
import type { Resolved } from '../config/resolve.js';
import { type LocalRoute, route } from '../config/routing.js';
import type { Endpoint } from '../providers/registry.js';

/** Where a judgement goes, as the providers want it. */
export type ModelRoute = LocalRoute | { kind: 'remote'; model: string; endpoint: Endpoint };

/** Models that callers name are few; beyond so many, remembering starts anew. */
const MAX_REMEMBERED = 256;

/** Routes by model name, each decided once; a request with an endpoint of its own is decided each time. */
export function modelRoutes(
  { settings, sources }: Resolved,
  env: Environment,
): (model: string | undefined, provider: ProviderChoice | undefined) => ModelRoute {
  const remembered = new Map<string, ModelRoute>();
  const decide = (model?: string, provider?: ProviderChoice): ModelRoute => {
    const chosen = route({ settings, sources, env, model, provider });
    if (chosen.kind === 'local') return chosen;
    const { origin, path, query, basicAuth, loopback } = chosen.url;
    const { model: name, apiKey, dialect } = chosen;
    const endpoint = { origin, path, query, basicAuth, loopback, apiKey };
    if (dialect === 'openai-chat') return { kind: 'remote', model: name, endpoint };
    return { kind: 'remote', model: name, endpoint: { ...endpoint, dialect } };
  };
  return (model, provider) => {
    if (provider !== undefined) return decide(model, provider);
    const key = model ?? '';
    const known = remembered.get(key);
    if (known !== undefined) return known;
    const decided = decide(model);
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(key, decided);
    return decided;
  };
}
