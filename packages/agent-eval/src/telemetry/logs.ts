import type { Logger } from 'pino';
import { parseJson } from '../core/json.js';
import type { JudgementFacts, Observer, ReplyFacts } from '../core/observer.js';
import { codeOf } from './code-of.js';

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';
export type LogFormat = 'text' | 'json';

export interface LogOptions {
  level: LogLevel;
  format: LogFormat;
  /** Takes whole lines, with their newline. */
  write: (line: string) => void;
  /** Hides what must not be written anywhere. */
  redact: (text: string) => string;
  /** Milliseconds that only move forward. */
  monotonic: () => number;
}

type Fields = Record<string, unknown>;

/** Lines about what a process does. What is judged and what a model says is never in them. */
export class Logs {
  readonly #logger: Logger;
  readonly #monotonic: () => number;

  constructor(logger: Logger, monotonic: () => number) {
    this.#logger = logger;
    this.#monotonic = monotonic;
  }

  error(message: string, fields: Fields = {}): void {
    this.#logger.error(fields, message);
  }

  warn(message: string, fields: Fields = {}): void {
    this.#logger.warn(fields, message);
  }

  info(message: string, fields: Fields = {}): void {
    this.#logger.info(fields, message);
  }

  /** Whether anybody reads lines of that level: who has to gather the fields first asks. */
  has(level: LogLevel): boolean {
    return this.#logger.isLevelEnabled(level);
  }

  /** A line for each judgement and each model call; undefined where nobody reads them. */
  observer(): Observer | undefined {
    if (!this.has('debug')) return undefined;
    return {
      judgement: (rubric, work) => this.#timed('judgement', { rubric }, work, ofJudgement),
      reply: (model, work) => this.#timed('model call', { model }, work, ofReply),
    };
  }

  async #timed<T>(
    what: string,
    fields: Fields,
    work: () => Promise<T>,
    facts: (value: T) => Fields,
  ): Promise<T> {
    const started = this.#monotonic();
    const durationMs = (): number => Math.round(this.#monotonic() - started);
    try {
      const value = await work();
      this.#logger.debug({ ...fields, ...facts(value), durationMs: durationMs() }, what);
      return value;
    } catch (error) {
      this.#logger.debug({ ...fields, code: codeOf(error), durationMs: durationMs() }, what);
      throw error;
    }
  }
}

const ofJudgement = ({ composite, cached }: JudgementFacts): Fields => ({ composite, cached });

const ofReply = ({ usage, costUsd, attempts }: ReplyFacts): Fields => ({
  attempts,
  inputTokens: usage?.inputTokens ?? null,
  outputTokens: usage?.outputTokens ?? null,
  costUsd,
});

/** Starts logging; the library is loaded here. */
export async function startLogs(options: LogOptions): Promise<Logs> {
  const loaded = await import('pino');
  // A bundled CommonJS module shows its names on the default export only.
  const library = 'pino' in loaded ? loaded : (loaded as { default: typeof loaded }).default;
  const shown = options.format === 'json' ? (line: string) => line : textLine;
  const logger = library.pino(
    {
      level: options.level,
      base: null,
      messageKey: 'message',
      timestamp: library.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line) => options.write(options.redact(shown(line))) },
  );
  return new Logs(logger, options.monotonic);
}

/** The same line for people: time, level, message, then the fields as name=value. */
function textLine(line: string): string {
  const entry = parseJson(line);
  if (typeof entry !== 'object' || entry === null) return line;
  const { level, time, message, ...fields } = entry as Fields;
  const pairs = Object.entries(fields).map(([name, value]) => ` ${name}=${shownValue(value)}`);
  return `${time} ${String(level).padEnd(5)} ${message}${pairs.join('')}\n`;
}

function shownValue(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
}
