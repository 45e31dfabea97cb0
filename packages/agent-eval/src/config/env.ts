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
