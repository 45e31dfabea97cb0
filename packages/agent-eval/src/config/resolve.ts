import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { type Environment, variable } from './env.js';
import { OPTION_ROWS, type OPTIONS, type OptionKey, type OptionRow } from './options.js';

type Row<K extends OptionKey> = (typeof OPTIONS)[K];
type ValueOf<R> = R extends { choices: readonly (infer Choice)[] }
  ? Choice | (R extends { fallback: null } ? null : never)
  : R extends { type: 'integer' }
    ? number
    : R extends { type: 'boolean' }
      ? boolean
      : R extends { type: 'list' }
        ? readonly string[] | null
        : R extends { fallback: string }
          ? string
          : string | null;

/** Every setting with its value in force. Frozen. */
export type Settings = { readonly [K in OptionKey]: ValueOf<Row<K>> };

/** Where a value came from: a flag, the name of a variable, or the default. */
export type Source = 'flag' | 'default' | (string & {});

export interface Resolved {
  settings: Settings;
  sources: Readonly<Record<OptionKey, Source>>;
}

/** Values given as arguments: strings from a command line, or typed ones from a program. */
export type Arguments = Partial<Record<OptionKey, unknown>>;

/** Resolves every setting in the one order: argument, environment, default. */
export function resolveSettings(env: Environment, args: Arguments = {}): Resolved {
  const settings: Record<string, unknown> = {};
  const sources: Record<string, Source> = {};
  for (const row of OPTION_ROWS) {
    const found = find(row, env, args);
    settings[row.key] = found.value;
    sources[row.key] = found.source;
  }
  return {
    settings: Object.freeze(settings) as Settings,
    sources: Object.freeze(sources) as Readonly<Record<OptionKey, Source>>,
  };
}

function find(
  row: OptionRow,
  env: Environment,
  args: Arguments,
): { value: unknown; source: Source } {
  const argument = args[row.key as OptionKey];
  if (argument !== undefined && argument !== null) {
    return { value: convert(row, argument, flagName(row)), source: 'flag' };
  }
  for (const name of row.env) {
    const value = variable(env, name);
    if (value !== undefined) return { value: convert(row, value, name), source: name };
  }
  return { value: row.fallback, source: 'default' };
}

export function flagName(row: OptionRow): string {
  return row.flag?.split(' ')[0] ?? row.key;
}

function convert(row: OptionRow, value: unknown, from: string): unknown {
  switch (row.type) {
    case 'integer':
      return integer(row, value, from);
    case 'boolean':
      return boolean(value, from);
    case 'list':
      return Array.isArray(value) ? value.map(String) : String(value).split(',').map(trimmed);
    default:
      return chosen(row, unquoted(String(value)), from);
  }
}

function chosen({ choices }: OptionRow, value: string, from: string): string {
  if (choices === undefined || choices.includes(value)) return value;
  throw wrongValue(from, `one of ${choices.join(', ')}`);
}

function integer(row: OptionRow, value: unknown, from: string): number {
  const [min, max] = row.range ?? [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  const parsed = /^[+-]?\d+$/.test(String(value).trim()) ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(parsed) && parsed >= min && parsed <= max) return parsed;
  throw wrongValue(from, `a whole number from ${min} to ${max}`);
}

function boolean(value: unknown, from: string): boolean {
  if (typeof value === 'boolean') return value;
  const text = String(value).toLowerCase();
  if (['1', 'true', 'yes', 'on'].includes(text)) return true;
  if (['0', 'false', 'no', 'off'].includes(text)) return false;
  throw wrongValue(from, 'one of 1, true, yes, on, 0, false, no, off');
}

function wrongValue(from: string, wanted: string): AgentEvalError {
  return new AgentEvalError('validation_error', `${from} must be ${wanted}.`, {
    issues: [{ path: from, message: `must be ${wanted}` }],
  });
}

const trimmed = (text: string): string => text.trim();

/** Takes off stray spaces and a pair of quotes, as they come along when a value is pasted. */
function unquoted(text: string): string {
  const value = text.trim();
  const quoted = /^(["'])(.*)\1$/.exec(value);
  return quoted?.[2] ?? value;
}
