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

const RANK: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

/**
 * Lines about what a process does. What is judged and what a model says is never in them. The library is
 * loaded with the first line: most servers have nothing to say.
 */
export class Logs {
  readonly #options: LogOptions;
  #logger: Promise<Logger> | null = null;

  constructor(options: LogOptions) {
    this.#options = options;
  }

  error(message: string, fields: Fields = {}): void {
    this.#write('error', message, fields);
  }

  warn(message: string, fields: Fields = {}): void {
    this.#write('warn', message, fields);
  }

  info(message: string, fields: Fields = {}): void {
    this.#write('info', message, fields);
  }

  /** Whether anybody reads lines of that level: who has to gather the fields first asks. */
  has(level: LogLevel): boolean {
    return RANK[level] >= RANK[this.#options.level];
  }

  /** Resolves when every line so far has been written. */
  async flush(): Promise<void> {
    await this.#logger;
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
    const { monotonic } = this.#options;
    const started = monotonic();
    const durationMs = (): number => Math.round(monotonic() - started);
    try {
      const value = await work();
      this.#write('debug', what, { ...fields, ...facts(value), durationMs: durationMs() });
      return value;
    } catch (error) {
      this.#write('debug', what, { ...fields, code: codeOf(error), durationMs: durationMs() });
      throw error;
    }
  }

  /** Lines keep their order: each waits for the same promise. */
  #write(level: LogLevel, message: string, fields: Fields): void {
    if (!this.has(level)) return;
    this.#logger ??= createLogger(this.#options);
    void this.#logger.then((logger) => logger[level](fields, message));
  }
}

const ofJudgement = ({ composite, cached }: JudgementFacts): Fields => ({ composite, cached });

const ofReply = ({ usage, costUsd, attempts }: ReplyFacts): Fields => ({
  attempts,
  inputTokens: usage?.inputTokens ?? null,
  outputTokens: usage?.outputTokens ?? null,
  costUsd,
});

async function createLogger(options: LogOptions): Promise<Logger> {
  const loaded = await import('pino');
  // A bundled CommonJS module shows its names on the default export only.
  const library = 'pino' in loaded ? loaded : (loaded as { default: typeof loaded }).default;
  const shown = options.format === 'json' ? (line: string) => line : textLine;
  return library.pino(
    {
      level: options.level,
      base: null,
      messageKey: 'message',
      timestamp: library.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line) => options.write(options.redact(shown(line))) },
  );
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
