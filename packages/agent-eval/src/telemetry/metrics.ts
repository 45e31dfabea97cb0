import type { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { JudgementFacts, Observer, ReplyFacts } from '../core/observer.js';
import { codeOf } from './code-of.js';

/** A judgement takes from a cache hit's fraction of a millisecond to minutes. */
const SECONDS = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

export interface Load {
  running: number;
  waiting: number;
}

export interface MetricsOptions {
  /** Milliseconds that only move forward. */
  monotonic: () => number;
  /** Calls to providers at the time of a scrape. */
  load: () => Promise<Load>;
}

interface Instruments {
  registry: Registry;
  requests: Counter;
  judgements: Counter;
  judgementSeconds: Histogram;
  replies: Counter;
  replySeconds: Histogram;
  tokens: Counter;
  cost: Counter;
  unpriced: Counter;
  lookups: Counter;
  running: Gauge;
  waiting: Gauge;
}

/** Counts for Prometheus. Its library is loaded with the first thing to count, or the first scrape. */
export class Metrics implements Observer {
  readonly #options: MetricsOptions;
  #made: Instruments | null = null;
  #making: Promise<Instruments> | null = null;

  constructor(options: MetricsOptions) {
    this.#options = options;
  }

  async judgement<T extends JudgementFacts>(_rubric: string, work: () => Promise<T>): Promise<T> {
    const { judgements, judgementSeconds } = this.#made ?? (await this.#instruments());
    const { value, error, seconds } = await this.#timed(work);
    const outcome = value === undefined ? codeOf(error) : 'scored';
    judgements.inc({ outcome });
    judgementSeconds.observe({ outcome: value === undefined ? 'unscored' : 'scored' }, seconds);
    if (value === undefined) throw error;
    return value;
  }

  async reply<T extends ReplyFacts>(_model: string, work: () => Promise<T>): Promise<T> {
    const made = this.#made ?? (await this.#instruments());
    const { value, error, seconds } = await this.#timed(work);
    made.replies.inc({ outcome: value === undefined ? codeOf(error) : 'answered' });
    made.replySeconds.observe(seconds);
    if (value === undefined) throw error;
    const { usage, costUsd } = value;
    if (usage !== null) {
      made.tokens.inc({ kind: 'input' }, usage.inputTokens);
      made.tokens.inc({ kind: 'output' }, usage.outputTokens);
    }
    if (costUsd === null) made.unpriced.inc();
    else made.cost.inc(costUsd);
    return value;
  }

  lookup(hit: boolean): void {
    this.#made?.lookups.inc({ result: hit ? 'hit' : 'miss' });
  }

  async request(method: string, status: number): Promise<void> {
    const { requests } = this.#made ?? (await this.#instruments());
    requests.inc({ method, status });
  }

  /** The exposition, and its content type. */
  async scrape(): Promise<{ text: string; contentType: string }> {
    const { registry, running, waiting } = await this.#instruments();
    const load = await this.#options.load();
    running.set(load.running);
    waiting.set(load.waiting);
    return { text: await registry.metrics(), contentType: registry.contentType };
  }

  async #timed<T>(
    work: () => Promise<T>,
  ): Promise<{ value?: T; error?: unknown; seconds: number }> {
    const started = this.#options.monotonic();
    const seconds = (): number => (this.#options.monotonic() - started) / 1000;
    try {
      const value = await work();
      return { value, seconds: seconds() };
    } catch (error) {
      return { error, seconds: seconds() };
    }
  }

  #instruments(): Promise<Instruments> {
    this.#making ??= makeInstruments().then((made) => {
      this.#made = made;
      return made;
    });
    return this.#making;
  }
}

async function makeInstruments(): Promise<Instruments> {
  const loaded = await import('prom-client');
  // A bundled CommonJS module shows its names on the default export only.
  const library = 'default' in loaded ? (loaded.default as typeof loaded) : loaded;
  const registry = new library.Registry();
  const options = (name: string, help: string, labelNames: string[] = []) => ({
    name: `agent_eval_${name}`,
    help,
    labelNames,
    registers: [registry],
  });
  const counter = (...of: Parameters<typeof options>) => new library.Counter(options(...of));
  const seconds = (...of: Parameters<typeof options>) =>
    new library.Histogram({ ...options(...of), buckets: SECONDS });
  const gauge = (...of: Parameters<typeof options>) => new library.Gauge(options(...of));
  return {
    registry,
    requests: counter('http_requests_total', 'HTTP requests answered.', ['method', 'status']),
    judgements: counter('judgements_total', 'Judgements: scored, or an error code.', ['outcome']),
    judgementSeconds: seconds('judgement_duration_seconds', 'Time of a judgement.', ['outcome']),
    replies: counter('provider_calls_total', 'Calls of a model, retries included.', ['outcome']),
    replySeconds: seconds('provider_duration_seconds', 'Time of a model call, with its retries.'),
    tokens: counter('tokens_total', 'Tokens sent and received.', ['kind']),
    cost: counter('cost_usd_total', 'Cost of the calls whose price is known, in US dollars.'),
    unpriced: counter('unpriced_calls_total', 'Model calls whose price is unknown.'),
    lookups: counter('cache_lookups_total', 'Look-ups in the verdict cache.', ['result']),
    running: gauge('provider_calls_running', 'Model calls in flight.'),
    waiting: gauge('provider_calls_waiting', 'Model calls that wait for a free place.'),
  };
}
