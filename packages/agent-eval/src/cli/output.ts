import { styleText } from 'node:util';
import type { AgentEvalError } from '@tangle-network/agent-eval-contract';

/** Where a command writes: data on stdout, talk on stderr. */
export interface Output {
  /** One line of data. */
  data(line: string): void;
  /** A value as JSON data. */
  json(value: unknown): void;
  talk(line: string): void;
  /** Whether people, rather than programs, read the data. */
  interactive: boolean;
  /** Makes a text bold where colours are shown. */
  strong(text: string): string;
  dim(text: string): string;
}

export function processOutput(): Output {
  const interactive = process.stdout.isTTY === true;
  const style = (format: 'bold' | 'dim', text: string): string =>
    interactive ? styleText(format, text) : text;
  return {
    data: (line) => void process.stdout.write(`${line}\n`),
    json: (value) => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`),
    talk: (line) => void process.stderr.write(`${line}\n`),
    interactive,
    strong: (text) => style('bold', text),
    dim: (text) => style('dim', text),
  };
}

/** Aligned columns, two spaces apart. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** Control characters, but for tab and newline, would let a text steer the terminal. */
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** A text of a model or a file, made harmless for a terminal. */
export function printable(text: string): string {
  return text.replace(CONTROL, '\ufffd');
}

/** Tells an error on stderr: what happened, then each further issue. */
export function tellError(output: Output, error: AgentEvalError, debug: boolean): void {
  output.talk(`error (${error.code}): ${printable(error.message)}`);
  const { issues } = error.details;
  if (Array.isArray(issues) && issues.length > 1) {
    for (const issue of issues) output.talk(`  ${printable(`${issue.path}: ${issue.message}`)}`);
  }
  if (debug) {
    const cause = error.cause instanceof Error ? error.cause : error;
    output.talk(cause.stack ?? '');
  }
}
