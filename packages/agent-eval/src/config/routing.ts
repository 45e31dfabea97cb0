import { AgentEvalError, type ProviderChoice } from '@tangle-network/agent-eval-contract';
import { type BaseUrl, parseBaseUrl } from './base-url.js';
import { type Environment, variable } from './env.js';
import { type KnownProvider, PROVIDERS } from './known-providers.js';
import type { Resolved, Settings } from './resolve.js';

/** Where one judgement goes. */
export type Route = LocalRoute | RemoteRoute;

export interface LocalRoute {
  kind: 'local';
  /** What follows `local/`: the name of a fetched model or a path to a GGUF file. */
  model: string;
}

export interface RemoteRoute {
  kind: 'remote';
  provider: string;
  /** Model name as the endpoint knows it. */
  model: string;
  url: BaseUrl;
  apiKey: string | null;
  /** Variable that held the key, "request", or null without a key. */
  keySource: string | null;
}

type RoutingSettings = Pick<Settings, 'baseUrl' | 'apiKey' | 'model' | 'allowInsecureHttp'>;

export interface RoutingInput {
  settings: RoutingSettings;
  /** Where base URL and key came from, when that is known. */
  sources?: Pick<Resolved['sources'], 'baseUrl' | 'apiKey'> | undefined;
  env: Environment;
  /** Model named by the request. */
  model?: string | undefined;
  /** Endpoint named by the request. */
  provider?: ProviderChoice | undefined;
}

/**
 * Decides endpoint, key and model name. A configured base URL always wins and gets the model name
 * unchanged; provider prefixes count only where none is set; `local/` is always local; a key never
 * goes to the base URL of another set of variables.
 */
export function route(input: RoutingInput): Route {
  const model = input.model ?? input.settings.model;
  if (model === null) throw noModel(input);
  if (model.startsWith('local/')) return { kind: 'local', model: model.slice('local/'.length) };
  const chosen =
    input.provider === undefined
      ? (configured(input, model) ?? byPrefix(input, model))
      : byRequest(input, input.provider, model);
  refuseBrokenKey(chosen);
  return refuseKeyInClear(chosen, input.settings.allowInsecureHttp);
}

function configured(input: RoutingInput, model: string): RemoteRoute | null {
  const { settings, env } = input;
  const sets = [
    { url: settings.baseUrl, from: 'AGENT_EVAL_LLM_BASE_URL', key: ownKey(input) },
    {
      url: variable(env, 'OPENAI_BASE_URL') ?? null,
      from: 'OPENAI_BASE_URL',
      key: fromVariables(env, ['OPENAI_API_KEY']),
    },
  ];
  const set = sets.find(({ url }) => url !== null);
  if (set?.url == null) return null;
  const url = parseBaseUrl(set.url, set.from);
  return { kind: 'remote', provider: 'openai-compatible', model, url, ...set.key };
}

interface Key {
  apiKey: string | null;
  keySource: string | null;
}

const NO_KEY: Key = { apiKey: null, keySource: null };

/** AGENT_EVAL_LLM_API_KEY belongs to AGENT_EVAL_LLM_BASE_URL: a base URL given as a flag gets it only on the same origin. */
function ownKey({ settings, sources, env }: RoutingInput): Key {
  if (settings.apiKey === null || settings.baseUrl === null) return NO_KEY;
  if (sources?.apiKey === 'flag') return { apiKey: settings.apiKey, keySource: 'argument' };
  const paired = variable(env, 'AGENT_EVAL_LLM_BASE_URL');
  const elsewhere =
    paired !== undefined &&
    parseBaseUrl(paired, 'AGENT_EVAL_LLM_BASE_URL').origin !==
      parseBaseUrl(settings.baseUrl, '--base-url').origin;
  return elsewhere ? NO_KEY : { apiKey: settings.apiKey, keySource: 'AGENT_EVAL_LLM_API_KEY' };
}

function fromVariables(env: Environment, names: readonly string[]): Key {
  for (const name of names) {
    const apiKey = variable(env, name);
    if (apiKey !== undefined) return { apiKey, keySource: name };
  }
  return NO_KEY;
}

function byPrefix(input: RoutingInput, model: string): RemoteRoute {
  const slash = model.indexOf('/');
  const prefix = slash > 0 ? model.slice(0, slash) : '';
  const known = Object.hasOwn(PROVIDERS, prefix) ? PROVIDERS[prefix] : undefined;
  if (known !== undefined) return atProvider(input, prefix, known, model.slice(slash + 1));
  const key = fromVariables(input.env, ['OPENAI_API_KEY']);
  if (key.apiKey === null) throw notConfigured(input, model);
  const url = parseBaseUrl('https://api.openai.com/v1', 'OPENAI_API_KEY');
  return { kind: 'remote', provider: 'openai', model, url, ...key };
}

function atProvider(
  input: RoutingInput,
  name: string,
  known: KnownProvider,
  model: string,
): RemoteRoute {
  if (known.baseUrl === null) {
    throw new AgentEvalError(
      'llm_not_configured',
      `${name} has an address of its own for each customer: set AGENT_EVAL_LLM_BASE_URL and AGENT_EVAL_LLM_API_KEY.`,
      { variables: ['AGENT_EVAL_LLM_BASE_URL', 'AGENT_EVAL_LLM_API_KEY'] },
    );
  }
  // A key that has a base URL of its own goes to no other.
  const paired = variable(input.env, 'OPENAI_BASE_URL') !== undefined;
  const names = known.keys.filter((key) => !(paired && key === 'OPENAI_API_KEY'));
  const key = fromVariables(input.env, names);
  if (key.apiKey === null) {
    const wanted = names.length > 0 ? names.join(' or ') : 'provider.apiKey';
    throw new AgentEvalError(
      'llm_not_configured',
      `The model "${name}/${model}" goes to ${name}: set ${wanted}.`,
      { variables: names },
    );
  }
  const url = parseBaseUrl(known.baseUrl, name);
  return { kind: 'remote', provider: name, model, url, ...key };
}

function byRequest(input: RoutingInput, choice: ProviderChoice, model: string): RemoteRoute {
  const provider = choice.name ?? 'openai-compatible';
  const own: Key =
    choice.apiKey === undefined ? NO_KEY : { apiKey: choice.apiKey, keySource: 'request' };
  if (choice.baseUrl !== undefined) {
    const url = requestedUrl(choice.baseUrl);
    return { kind: 'remote', provider, model, url, ...own };
  }
  const known = Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined;
  if (known === undefined || known.baseUrl === null) {
    throw new AgentEvalError(
      'validation_error',
      `The provider "${provider}" needs provider.baseUrl; known by name are ${Object.keys(PROVIDERS).join(', ')}.`,
      { issues: [{ path: 'provider.baseUrl', message: 'is needed for this provider' }] },
    );
  }
  const bare = model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model;
  if (own.apiKey === null) return atProvider(input, provider, known, bare);
  const url = parseBaseUrl(known.baseUrl, provider);
  return { kind: 'remote', provider, model: bare, url, ...own };
}

/** A wrong address in a request is the request's fault, not that of the settings. */
function requestedUrl(baseUrl: string): BaseUrl {
  const path = 'provider.baseUrl';
  try {
    return parseBaseUrl(baseUrl, path);
  } catch (error) {
    if (!(error instanceof AgentEvalError)) throw error;
    throw new AgentEvalError('validation_error', error.message, {
      issues: [{ path, message: 'must be a URL that starts with http:// or https://' }],
    });
  }
}

/** What no header can carry is found here, and not by every request anew. */
function refuseBrokenKey({ apiKey, keySource }: RemoteRoute): void {
  if (apiKey === null || /^[\x21-\x7e]+$/.test(apiKey)) return;
  throw new AgentEvalError(
    'llm_not_configured',
    `The API key (${keySource}) holds characters that no key has, such as a line break: set it again.`,
    { variables: [keySource] },
  );
}

function refuseKeyInClear(chosen: RemoteRoute, allowed: boolean): RemoteRoute {
  const hasSecret = chosen.apiKey !== null || chosen.url.basicAuth !== null;
  if (!hasSecret || allowed || chosen.url.loopback || chosen.url.origin.startsWith('https:')) {
    return chosen;
  }
  throw new AgentEvalError(
    'llm_not_configured',
    `A key would go over plain http to ${chosen.url.origin}: use https, or set AGENT_EVAL_ALLOW_INSECURE_HTTP=1 if you accept that.`,
    { origin: chosen.url.origin },
  );
}

const LOCAL_HINT =
  'To try it without a key: agent-eval model fetch qwen2.5-coder-1.5b, then AGENT_EVAL_LLM_MODEL=local/qwen2.5-coder-1.5b.';

function noModel(input: RoutingInput): AgentEvalError {
  const endpoint = input.settings.baseUrl ?? variable(input.env, 'OPENAI_BASE_URL') ?? null;
  const message =
    endpoint === null
      ? 'No model is configured: set AGENT_EVAL_LLM_BASE_URL, AGENT_EVAL_LLM_API_KEY and AGENT_EVAL_LLM_MODEL (or OPENAI_API_KEY and OPENAI_MODEL).'
      : 'An endpoint is configured but no model: set AGENT_EVAL_LLM_MODEL (or OPENAI_MODEL).';
  return new AgentEvalError('llm_not_configured', `${message} ${LOCAL_HINT}`, {
    variables: ['AGENT_EVAL_LLM_MODEL'],
  });
}

function notConfigured({ settings }: RoutingInput, model: string): AgentEvalError {
  const message =
    settings.apiKey === null
      ? `No endpoint is configured for the model "${model}": set AGENT_EVAL_LLM_BASE_URL (and AGENT_EVAL_LLM_API_KEY where it wants a key), or OPENAI_API_KEY.`
      : 'AGENT_EVAL_LLM_API_KEY is set, but not the endpoint it is for: set AGENT_EVAL_LLM_BASE_URL.';
  return new AgentEvalError('llm_not_configured', `${message} ${LOCAL_HINT}`, {
    variables: ['AGENT_EVAL_LLM_BASE_URL', 'OPENAI_API_KEY'],
  });
}
