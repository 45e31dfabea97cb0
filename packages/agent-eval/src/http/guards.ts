import { createHash, timingSafeEqual } from 'node:crypto';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';

export type HeaderReader = (name: string) => string | undefined;

export interface GuardOptions {
  /** Bearer token callers must send, or null. */
  token: string | null;
  /** Whether the server listens on a loopback address only. */
  loopback: boolean;
  /** Further host names to answer to. */
  allowedHosts: readonly string[];
}

/** Refuses what a page of another site could send: foreign Host names and foreign origins. */
export function checkOrigin(header: HeaderReader, options: GuardOptions): void {
  const host = header('host') ?? '';
  if (options.loopback && !isOurHost(hostName(host), options.allowedHosts)) {
    throw forbidden(`the Host header "${host.slice(0, 100)}" is not a name of this server`);
  }
  const origin = header('origin');
  if (origin !== undefined && !isSameOrigin(origin, host)) {
    throw forbidden('pages of other origins are not served');
  }
  const site = header('sec-fetch-site');
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw forbidden('pages of other sites are not served');
  }
}

/** Refuses what comes after the server has been told to stop. */
export function checkAccepting(accepting: () => boolean): void {
  if (accepting()) return;
  throw new AgentEvalError('service_unavailable', 'The server is shutting down: try again soon.');
}

/** Compares the bearer token in constant time. */
export function checkToken(header: HeaderReader, options: GuardOptions): void {
  if (options.token === null) return;
  const given = /^Bearer +(.+)$/i.exec(header('authorization') ?? '')?.[1];
  if (given !== undefined && timingSafeEqual(digest(given), digest(options.token))) return;
  throw new AgentEvalError(
    'unauthorized',
    'The bearer token is missing or wrong: send "Authorization: Bearer …" (clients read AGENT_EVAL_TOKEN).',
  );
}

/** The name in a Host header, without its port. */
function hostName(host: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(host);
  return (bracketed?.[1] ?? host.replace(/:\d+$/, '')).toLowerCase().replace(/\.$/, '');
}

function isOurHost(name: string, allowed: readonly string[]): boolean {
  return (
    name === 'localhost' ||
    name === '::1' ||
    /^127(\.\d{1,3}){3}$/.test(name) ||
    allowed.some((entry) => entry.toLowerCase() === name)
  );
}

function isSameOrigin(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}

function forbidden(why: string): AgentEvalError {
  return new AgentEvalError('forbidden_origin', `Refused: ${why}.`);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
