import { type Cancellation, Stopped } from '../../core/cancel.js';
import type { Clock } from '../../core/clock.js';
import type { ReplyMode, Sampled } from '../types.js';
import { FULL_SHAPE, type RequestShape } from './chat-body.js';
import type { Feature, Refusal } from './refused-feature.js';

/** Models come from requests; beyond so many, the one learned first is forgotten. */
const MAX_MODELS = 512;
/**
 * How long calls hold back while another finds out what the endpoint takes. Refusals come fast, and an
 * endpoint that takes everything must not make a burst wait for a whole slow judgement.
 */
export const PATIENCE_MS = 250;

/** What there is to learn about endpoints of one dialect. */
export interface Ladder {
  /** What every endpoint is asked first. */
  start: RequestShape;
  modes: readonly ReplyMode[];
  /** Names that the limit of output tokens may have, the one to turn to first. */
  limits: readonly NonNullable<RequestShape['maxTokens']>[];
}

export const CHAT_LADDER: Ladder = {
  start: FULL_SHAPE,
  modes: ['json_schema', 'tool_call', 'json_object', 'text'],
  limits: ['max_completion_tokens', 'max_tokens'],
};

const BIT = {
  mode: 1,
  temperature: 2,
  maxTokens: 4,
  seed: 8,
  logprobs: 16,
  reasoning: 32,
} as const;

/** What one model of one endpoint takes. */
interface Knowledge {
  /** Replaced, never changed: a call that holds another one was overtaken. */
  shape: RequestShape;
  /** Bits of the features that an answered request has carried. */
  proven: number;
  /** Whether a call is finding out. */
  proving: boolean;
  /** Calls that hold back until that one knows more. */
  readonly held: Set<() => void>;
}

/** What an endpoint takes, learned from its refusals and shared by its calls. */
export class CapabilityMemory {
  readonly #clock: Clock;
  readonly #ladder: Ladder;
  readonly #models = new Map<string, Knowledge>();

  constructor(clock: Clock, ladder: Ladder = CHAT_LADDER) {
    this.#clock = clock;
    this.#ladder = ladder;
  }

  /** Begins a call. */
  probe(request: Sampled): Probe {
    return new Probe(this.#clock, this.#ladder, this.#knowledge(request.model), request);
  }

  #knowledge(model: string): Knowledge {
    const known = this.#models.get(model);
    if (known !== undefined) return known;
    const { start: shape } = this.#ladder;
    const fresh = { shape, proven: 0, proving: false, held: new Set<() => void>() };
    this.#models.set(model, fresh);
    if (this.#models.size > MAX_MODELS) {
      const [oldest] = this.#models.keys();
      if (oldest !== undefined) this.#models.delete(oldest);
    }
    return fresh;
  }
}

/** One call's part in finding out what its model takes. */
export class Probe {
  readonly #clock: Clock;
  readonly #ladder: Ladder;
  readonly #knowledge: Knowledge;
  readonly #features: number;
  /** Set where this call departs from what is known, for values of its own. */
  #own: RequestShape | null = null;
  #sent: RequestShape;
  #leads = false;
  /** What this call has seen refused: it asks for none of it twice, so it ends. */
  #refused: Set<string> | null = null;

  constructor(clock: Clock, ladder: Ladder, knowledge: Knowledge, request: Sampled) {
    this.#clock = clock;
    this.#ladder = ladder;
    this.#knowledge = knowledge;
    this.#features = featuresOf(request);
    this.#sent = knowledge.shape;
  }

  /** Whether the request may go out now. The first call to use something new leads, and others wait for it. */
  mayGo(): boolean {
    if (this.#leads || this.#isProven) return true;
    if (this.#knowledge.proving) return false;
    this.#knowledge.proving = true;
    this.#leads = true;
    return true;
  }

  /** Holds back until the leading call knows more, but not for long. */
  async wait(cancel: Cancellation): Promise<void> {
    let patient = true;
    while (patient && !this.mayGo()) patient = await this.#news(cancel);
  }

  /** The shape to send now. */
  shape(): RequestShape {
    this.#sent = this.#own ?? this.#knowledge.shape;
    return this.#sent;
  }

  /** The request was answered: what it carried is taken. */
  answered(): void {
    const known = this.#knowledge;
    if (this.#own === null && known.shape === this.#sent) known.proven |= this.#features;
    this.end();
    // It may have gone out without leading, and then others wait for nothing any more.
    if (known.held.size > 0) wake(known);
  }

  /** Learns from a refusal. False when nothing is left to leave out. */
  refused({ feature, valueOnly }: Refusal): boolean {
    this.#refused ??= new Set();
    this.#refused.add(spelling(feature, this.#sent));
    const next = without(feature, this.#sent, this.#refused, this.#ladder);
    if (next === null) return false;
    const known = this.#knowledge;
    if (valueOnly || this.#own !== null) {
      this.#own = next;
      return true;
    }
    // Another call may have learned the same, or more, since this request was built.
    if (known.shape === this.#sent) {
      known.shape = next;
      known.proven &= ~BIT[feature];
      wake(known);
    } else if (this.#refused.has(spelling(feature, known.shape))) {
      this.#own = next;
    }
    return true;
  }

  /** The call is over: when it led, another may. */
  end(): void {
    if (!this.#leads) return;
    this.#leads = false;
    this.#knowledge.proving = false;
    wake(this.#knowledge);
  }

  get #isProven(): boolean {
    return this.#own !== null || (this.#features & ~this.#knowledge.proven) === 0;
  }

  /** True when something was learned in time. */
  #news(cancel: Cancellation): Promise<boolean> {
    const { held } = this.#knowledge;
    return new Promise((resolve, reject) => {
      const settle = (news: boolean): void => {
        held.delete(onNews);
        stopTimer();
        forget();
        resolve(news);
      };
      const onNews = (): void => settle(true);
      const stopTimer = this.#clock.setTimer(() => settle(false), PATIENCE_MS);
      held.add(onNews);
      const forget = cancel.onStop(() => {
        held.delete(onNews);
        stopTimer();
        reject(new Stopped());
      });
    });
  }
}

/** Those held look again; the first to do so may lead in its turn. */
function wake(known: Knowledge): void {
  for (const news of [...known.held]) news();
}

function featuresOf(request: Sampled): number {
  let features: number = 'schema' in request ? BIT.mode : 0;
  if (request.temperature !== undefined) features |= BIT.temperature;
  if (request.maxTokens !== undefined) features |= BIT.maxTokens;
  if (request.seed !== undefined) features |= BIT.seed;
  if (request.topLogprobs !== undefined) features |= BIT.logprobs;
  if (request.reasoningEffort !== undefined) features |= BIT.reasoning;
  return features;
}

/** How a feature is spelled in a request of this shape, empty where it is left out. */
function spelling(feature: Feature, shape: RequestShape): string {
  if (feature === 'mode') return shape.mode;
  if (feature === 'maxTokens') return shape.maxTokens ?? '';
  return shape[feature] ? feature : '';
}

/** The best shape left: a rung or name that worked once is passed over only when this call saw it refused. */
function without(
  feature: Feature,
  shape: RequestShape,
  refused: ReadonlySet<string>,
  { modes, limits }: Ladder,
): RequestShape | null {
  if (feature === 'mode') {
    const mode = modes.find((rung) => !refused.has(rung));
    return mode === undefined ? null : { ...shape, mode };
  }
  if (feature === 'maxTokens') {
    return { ...shape, maxTokens: limits.find((name) => !refused.has(name)) ?? null };
  }
  return { ...shape, [feature]: false };
}
