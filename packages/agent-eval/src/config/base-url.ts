import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { DialectName } from '../core/dialect-name.js';

/** An endpoint's address, taken apart once. */
export interface BaseUrl {
  /** Scheme, host and port. */
  origin: string;
  /** Path without a trailing slash, ending in a version segment where one belongs. */
  path: string;
  /** Query with its question mark, or empty. */
  query: string;
  /** User info as a Basic authorization value, when the URL carried one. */
  basicAuth: string | null;
  loopback: boolean;
}

const VERSIONED = /\/v\d+[a-z0-9]*(\/openai)?$/i;
const DEPLOYMENT = /\/openai\/deployments\/[^/]+$/;
const OPERATION = /\/(chat\/completions|completions|responses|messages|models(\/[^/]+:\w+)?)$/;

export interface BaseUrlOptions {
  /** What is spoken there. */
  dialect?: DialectName;
  /** Azure's `api-version`, for an address that has none. */
  apiVersion?: string | undefined;
}

/** Reads a base URL in the spellings people paste. `from` names the setting in errors. */
export function parseBaseUrl(
  value: string,
  from: string,
  { dialect = 'openai-chat', apiVersion }: BaseUrlOptions = {},
): BaseUrl {
  const text = value.trim().replace(/^(["'])(.*)\1$/, '$2');
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    throw new AgentEvalError(
      'llm_not_configured',
      `${from} must be a URL that starts with http:// or https://, such as https://api.openai.com/v1.`,
      { setting: from },
    );
  }
  const url = new URL(text);
  const path = url.pathname
    .replace(/\/+$/, '')
    .replace(/\/{2,}/g, '/')
    .replace(OPERATION, '');
  if (apiVersion !== undefined && !url.searchParams.has('api-version')) {
    url.searchParams.set('api-version', apiVersion);
  }
  return {
    origin: url.origin,
    path: withVersion(path, dialect, url.searchParams.has('api-version')),
    query: url.search,
    basicAuth: basicAuth(url),
    loopback: isLoopback(url.hostname),
  };
}

/** Adds what is missing between the address and an operation. */
function withVersion(path: string, dialect: DialectName, hasApiVersion: boolean): string {
  const complete = VERSIONED.test(path) || DEPLOYMENT.test(path);
  switch (dialect) {
    case 'gemini':
      // Below `/openai` it speaks another dialect.
      return complete ? path.replace(/\/openai$/i, '') : `${path}/v1beta`;
    case 'azure': {
      if (complete) return path;
      const base = path.replace(/\/openai$/i, '');
      // An address with an `api-version` has deployments in its paths; without one it is the newer form.
      return hasApiVersion ? `${base}/openai` : `${base}/openai/v1`;
    }
    default:
      return complete ? path : `${path}/v1`;
  }
}

/** Whether a path is one of Azure's deployments. */
export function isDeployment(path: string): boolean {
  return DEPLOYMENT.test(path);
}

function basicAuth(url: URL): string | null {
  if (url.username === '' && url.password === '') return null;
  return Buffer.from(`${unescaped(url.username)}:${unescaped(url.password)}`).toString('base64');
}

/** Undoes percent escapes; a text with a broken escape is taken as it is. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Whether a host name, as a URL gives it, is this machine. */
export function isLoopback(hostname: string): boolean {
  const host = hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    host === '::1' ||
    /^127(\.\d{1,3}){3}$/.test(host)
  );
}
