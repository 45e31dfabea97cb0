import { type Clock, type Random, systemClock, systemRandom } from '../core/clock.js';
import type { DialectName } from '../core/dialect-name.js';
import { sha256Hex } from '../core/hash.js';
import { displayUrl, redactor } from '../core/redact.js';
import { DEFAULT_RETRY } from '../core/retry.js';
import type { Dialect } from './dialect.js';
import { MODEL_PLACE } from './endpoint-calls.js';
import { Limiter } from './limiter.js';
import { loadDialect } from './native/load.js';
import { type Address, RemoteClient } from './remote-client.js';
import type { HttpTransport, ModelClient, TokenUsage } from './types.js';

/** A remote endpoint, resolved: where it is and what opens it. */
export interface Endpoint {
  origin: string;
  path: string;
  query: string;
  apiKey: string | null;
  basicAuth: string | null;
  loopback: boolean;
  /** Default: OpenAI's chat completions. */
  dialect?: DialectName;
}

export interface RegistryOptions {
  attempts: number;
  concurrency: number;
  queueLimit: number;
  /** Takes a reply to a prompt that the endpoint seems to have cut, with a warning. */
  allowCutPrompt?: boolean;
  /** Longest a single request may take; 0 leaves it to the deadline. */
  attemptTimeoutMs?: number;
  /** What requests cost at an endpoint; called once for each. */
  pricesAt?: (origin: string) => {
    cost(models: readonly string[], usage: TokenUsage): number | null;
  };
  /** Makes the transport of an endpoint; called once for each. */
  createTransport: (endpoint: Endpoint, connections: number) => Promise<HttpTransport>;
  clock?: Clock;
  random?: Random;
}

/** Endpoints named by requests come and go; beyond so many, the one used longest ago is closed. */
const MAX_ENDPOINTS = 256;

/**
 * Connections for each call that may run at once. One that was just answered is not used again before the
 * event loop has gone round: without some to spare, every call of a burst would wait for the last of it.
 */
const SPARE = 1.25;

/** One client, with its connections and limiter, for each endpoint and key. */
export class ProviderRegistry {
  readonly #options: RegistryOptions;
  readonly #clients = new Map<string, Promise<ModelClient>>();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  client(endpoint: Endpoint): Promise<ModelClient> {
    const key = endpointKey(endpoint);
    const known = this.#clients.get(key);
    const client = known ?? this.#create(endpoint);
    if (known !== undefined) this.#clients.delete(key);
    this.#clients.set(key, client);
    // A client that could not be made is tried anew by the next call.
    client.catch(() => {
      if (this.#clients.get(key) === client) this.#clients.delete(key);
    });
    if (this.#clients.size > MAX_ENDPOINTS) this.#closeOldest();
    return client;
  }

  /** Calls of all endpoints. */
  async load(): Promise<{ running: number; waiting: number }> {
    const sum = { running: 0, waiting: 0 };
    for (const client of await Promise.allSettled(this.#clients.values())) {
      if (client.status !== 'fulfilled') continue;
      sum.running += client.value.load?.running ?? 0;
      sum.waiting += client.value.load?.waiting ?? 0;
    }
    return sum;
  }

  async close(): Promise<void> {
    const clients = [...this.#clients.values()];
    this.#clients.clear();
    await Promise.allSettled(clients.map(async (client) => (await client).close()));
  }

  #closeOldest(): void {
    for (const [key, client] of this.#clients) {
      this.#clients.delete(key);
      void client.then((oldest) => oldest.close()).catch(() => {});
      return;
    }
  }

  async #create(endpoint: Endpoint): Promise<ModelClient> {
    const { attempts, concurrency, queueLimit, createTransport, clock, random } = this.#options;
    const dialect = await loadDialect(endpoint.dialect ?? 'openai-chat');
    return new RemoteClient({
      dialect,
      judging: addressOf(endpoint, dialect),
      chatting: dialect.chat && addressOf(endpoint, dialect.chat),
      transport: await createTransport(endpoint, Math.ceil(concurrency * SPARE)),
      limiter: new Limiter(concurrency, queueLimit, clock),
      retry: { ...DEFAULT_RETRY, attempts },
      clock: clock ?? systemClock,
      random: random ?? systemRandom,
      redact: redactor(secretsOf(endpoint)),
      allowCutPrompt: this.#options.allowCutPrompt ?? false,
      attemptTimeoutMs: this.#options.attemptTimeoutMs ?? 0,
      prices: this.#options.pricesAt?.(endpoint.origin) ?? null,
    });
  }
}

function addressOf(
  endpoint: Endpoint,
  { operation, headers }: Pick<Dialect, 'operation' | 'headers'>,
): Address {
  const path = `${endpoint.path}${operation(endpoint.path)}${endpoint.query}`;
  // A URL would escape what stands for the model.
  const shown = displayUrl(`${endpoint.origin}${path.replace(MODEL_PLACE, '~model~')}`);
  const basic = authorization(endpoint);
  return {
    path,
    displayUrl: shown.replace('~model~', MODEL_PLACE),
    headers: { ...(basic !== null && { authorization: basic }), ...headers(endpoint.apiKey) },
  };
}

export const SECRET_PARAMETER = /key|token|secret|sig|pass/i;

/** Every spelling of an endpoint's secrets that could turn up in a text. */
export function secretsOf({ apiKey, basicAuth, query }: Endpoint): string[] {
  const pair = basicAuth === null ? '' : Buffer.from(basicAuth, 'base64').toString('utf8');
  const parameters = [...new URLSearchParams(query)]
    .filter(([name]) => SECRET_PARAMETER.test(name))
    .map(([, value]) => value);
  const password = pair.slice(pair.indexOf(':') + 1);
  return [apiKey ?? '', basicAuth ?? '', pair, password, ...parameters].filter(
    (text) => text !== '',
  );
}

/** Value of the authorization header for user info in the address, where no key takes its place. */
function authorization({ apiKey, basicAuth }: Endpoint): string | null {
  return apiKey !== null || basicAuth === null ? null : `Basic ${basicAuth}`;
}

/** Headers that open an endpoint, in its dialect. */
export async function openingHeaders(endpoint: Endpoint): Promise<Record<string, string>> {
  const dialect = await loadDialect(endpoint.dialect ?? 'openai-chat');
  const basic = authorization(endpoint);
  return { ...dialect.headers(endpoint.apiKey), ...(basic !== null && { authorization: basic }) };
}

const endpointKeys = new WeakMap<Endpoint, string>();

/** Keys are only ever held as a hash in a map key. */
function endpointKey(endpoint: Endpoint): string {
  const known = endpointKeys.get(endpoint);
  if (known !== undefined) return known;
  const { origin, path, query, apiKey, basicAuth, dialect } = endpoint;
  const key = sha256Hex(JSON.stringify([origin, path, query, apiKey, basicAuth, dialect]));
  endpointKeys.set(endpoint, key);
  return key;
}
