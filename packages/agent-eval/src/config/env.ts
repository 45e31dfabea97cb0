import path from 'node:path';

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

/** Proxy variables in either case, as `HTTPS_PROXY` and `https_proxy`. */
export function proxySettings(env: Environment): ProxySettings {
  const either = (name: string): string | undefined =>
    variable(env, name.toLowerCase()) ?? variable(env, name);
  return {
    httpProxy: either('HTTP_PROXY'),
    httpsProxy: either('HTTPS_PROXY'),
    noProxy: either('NO_PROXY'),
  };
}

export interface ProxySettings {
  httpProxy: string | undefined;
  httpsProxy: string | undefined;
  noProxy: string | undefined;
}

const SECRET_NAMES = /(_API_KEY|_TOKEN|_SECRET|_PASSWORD)$/i;

/** The environment for a package client that we start: everything but keys, which it has no use for. */
export function childEnvironment(env: Environment): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !SECRET_NAMES.test(entry[0]),
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
