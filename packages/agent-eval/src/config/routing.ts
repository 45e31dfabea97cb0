import { AgentEvalError, type ProviderChoice } from '@tangle-network/agent-eval-contract';
import type { DialectName } from '../core/dialect-name.js';
import { type BaseUrl, isDeployment, parseBaseUrl } from './base-url.js';
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
  dialect: DialectName;
  /** Model name as the endpoint knows it. */
  model: string;
  url: BaseUrl;
  apiKey: string | null;
  /** Variable that held the key, "request", or null without a key. */
  keySource: string | null;
}

type RoutingSettings = Pick<
  Settings,
  'baseUrl' | 'apiKey' | 'model' | 'dialect' | 'allowInsecureHttp'
>;

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
  const url = parseBaseUrl(set.url, set.from, { dialect: settings.dialect ?? 'openai-chat' });
  const dialect = settings.dialect ?? (isDeployment(url.path) ? 'azure' : 'openai-chat');
  const provider = settings.dialect ?? 'openai-compatible';
  return { kind: 'remote', provider, dialect, model, url, ...set.key };
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
  const known = providerNamed(prefix);
  if (known !== undefined) return atProvider(input, prefix, known, model.slice(slash + 1));
  const openai = providerNamed('openai');
  if (openai === undefined || fromVariables(input.env, openai.keys).apiKey === null) {
    throw notConfigured(input, model);
  }
  return atProvider(input, 'openai', openai, model);
}

function providerNamed(name: string): KnownProvider | undefined {
  return Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined;
}

/** At a provider's own address, with its own key, unless the request has one. */
function atProvider(
  input: RoutingInput,
  name: string,
  known: KnownProvider,
  model: string,
  own: Key = NO_KEY,
): RemoteRoute {
  const place = addressOf(input.env, name, known);
  const key = own.apiKey === null ? fromVariables(input.env, known.keys) : own;
  if (key.apiKey === null && !place.overridden) {
    throw new AgentEvalError(
      'llm_not_configured',
      `The model "${name}/${model}" goes to ${name}: set ${known.keys.join(' or ')}.`,
      { variables: known.keys },
    );
  }
  return { kind: 'remote', provider: name, dialect: known.dialect, model, url: place.url, ...key };
}

/** Where a provider is: its public address, or the one that its variable names, which may need no key. */
function addressOf(
  env: Environment,
  name: string,
  known: KnownProvider,
): { url: BaseUrl; overridden: boolean } {
  const { dialect, apiVersion } = known;
  const spoken = { dialect, apiVersion: apiVersion && variable(env, apiVersion) };
  for (const from of known.baseUrls) {
    const value = variable(env, from);
    if (value !== undefined) return { url: parseBaseUrl(value, from, spoken), overridden: true };
  }
  const address = known.baseUrl ?? resourceAddress(env, known);
  if (address !== null) return { url: parseBaseUrl(address, name, spoken), overridden: false };
  const variables = [...known.baseUrls, ...(known.resource ? [known.resource.variable] : [])];
  throw new AgentEvalError(
    'llm_not_configured',
    `${name} has an address of its own for each customer: set ${variables.join(' or ')}.`,
    { variables },
  );
}

function resourceAddress(env: Environment, { resource }: KnownProvider): string | null {
  const name = resource === undefined ? undefined : variable(env, resource.variable);
  if (resource === undefined || name === undefined) return null;
  if (/^[a-z\d-]+$/i.test(name)) return resource.address(name);
  throw new AgentEvalError(
    'llm_not_configured',
    `${resource.variable} must be a name of letters, digits and hyphens, not an address.`,
    { variables: [resource.variable] },
  );
}

function byRequest(input: RoutingInput, choice: ProviderChoice, model: string): RemoteRoute {
  const provider = choice.name ?? 'openai-compatible';
  const known = providerNamed(provider);
  const own: Key =
    choice.apiKey === undefined ? NO_KEY : { apiKey: choice.apiKey, keySource: 'request' };
  const bare = model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model;
  if (choice.baseUrl !== undefined) {
    const dialect = known?.dialect ?? 'openai-chat';
    const url = requestedUrl(choice.baseUrl, dialect);
    return { kind: 'remote', provider, dialect, model, url, ...own };
  }
  if (known === undefined) {
    throw new AgentEvalError(
      'validation_error',
      `The provider "${provider}" needs provider.baseUrl; known by name are ${Object.keys(PROVIDERS).join(', ')}.`,
      { issues: [{ path: 'provider.baseUrl', message: 'is needed for this provider' }] },
    );
  }
  return atProvider(input, provider, known, bare, own);
}

/** A wrong address in a request is the request's fault, not that of the settings. */
function requestedUrl(baseUrl: string, dialect: DialectName): BaseUrl {
  const path = 'provider.baseUrl';
  try {
    return parseBaseUrl(baseUrl, path, { dialect });
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
