import path from 'node:path';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { PROVIDERS } from './known-providers.js';

/** The environment as the engine reads it. This module alone touches `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

export function processEnvironment(): Environment {
  return process.env;
}

/** Value of a variable; an empty one counts as not set. */
export function variable(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === undefined || value === '' ? undefined : value;
}

/** Proxy variables in either case, as `HTTPS_PROXY` and `https_proxy`; `host:port` means http. */
export function proxySettings(env: Environment): ProxySettings {
  return {
    httpProxy: proxyUrl(env, 'HTTP_PROXY'),
    httpsProxy: proxyUrl(env, 'HTTPS_PROXY'),
    noProxy: variable(env, 'no_proxy') ?? variable(env, 'NO_PROXY'),
  };
}

function proxyUrl(env: Environment, name: string): string | undefined {
  const value = variable(env, name.toLowerCase()) ?? variable(env, name);
  if (value === undefined) return undefined;
  const url = value.includes('://') ? value : `http://${value}`;
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return url;
  throw new AgentEvalError(
    'validation_error',
    `${name} must be the address of an HTTP proxy, such as http://proxy.example:8080.`,
    { issues: [{ path: name, message: 'is not the address of an HTTP proxy' }] },
  );
}

export interface ProxySettings {
  httpProxy: string | undefined;
  httpsProxy: string | undefined;
  noProxy: string | undefined;
}

const SECRET_NAMES = /(KEY|TOKEN|SECRET|PASSWORD|PAT)$/i;
const OURS = /^(AGENT_EVAL|OPENAI)_/i;
const PROVIDER_KEYS = new Set<string>(Object.values(PROVIDERS).flatMap(({ keys }) => keys));
/** The address of a provider may hold a password. */
const PROVIDER_NAMES = new Set(
  Object.values(PROVIDERS).flatMap(({ keys, baseUrls }) => [...keys, ...baseUrls]),
);
/** Settings of the package clients themselves: a private mirror needs its password. */
const CLIENTS = /^(UV|PIP|NPM)_/i;

/** The environment for a package client that we start: nothing of ours and no keys it has no use for. */
export function childEnvironment(env: Environment): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      !OURS.test(entry[0]) &&
      !PROVIDER_NAMES.has(entry[0].toUpperCase()) &&
      (CLIENTS.test(entry[0]) || !SECRET_NAMES.test(entry[0])),
  );
  return Object.fromEntries(kept);
}

/** Folder for fetched models and their runtime: `agent-eval` in the user's cache folder. */
export function defaultHome(env: Environment, platform: NodeJS.Platform, userHome: string): string {
  const local = variable(env, 'LOCALAPPDATA');
  if (platform === 'win32' && local !== undefined) return path.win32.join(local, 'agent-eval');
  if (platform === 'darwin') return path.join(userHome, 'Library', 'Caches', 'agent-eval');
  const cache = variable(env, 'XDG_CACHE_HOME') ?? path.join(userHome, '.cache');
  return path.join(cache, 'agent-eval');
}

/** Values of the environment that must not be written anywhere: keys, tokens, passwords. */
export function secretValues(env: Environment): string[] {
  const names = Object.keys(env).filter(
    (name) => SECRET_NAMES.test(name) || PROVIDER_KEYS.has(name.toUpperCase()),
  );
  return names.map((name) => variable(env, name)).filter((value) => value !== undefined);
}
