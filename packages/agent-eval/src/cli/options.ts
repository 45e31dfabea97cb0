import { type Command, Option } from 'commander';
import { type OptionRow, optionsOf } from '../config/options.js';
import type { Arguments } from '../config/resolve.js';

/** Adds the flags that the option table has for a command. */
export function addTableOptions(command: Command, name: string): Command {
  for (const row of optionsOf(name)) command.addOption(tableOption(row));
  return command;
}

function tableOption(row: OptionRow): Option {
  const option = new Option(row.flag ?? '', describe(row));
  option.attributeName = () => row.key;
  return option;
}

function describe(row: OptionRow): string {
  const facts = [
    row.env.length > 0 ? `env ${row.env.join(', ')}` : '',
    row.fallback === null || row.fallback === false ? '' : `default ${row.fallback}`,
  ].filter((fact) => fact !== '');
  return facts.length === 0 ? row.help : `${row.help} (${facts.join('; ')})`;
}

/** The values of a command's table flags, for `resolveSettings`. */
export function tableArguments(command: Command, name: string): Arguments {
  const values: Record<string, unknown> = command.opts();
  return Object.fromEntries(
    optionsOf(name)
      .map((row) => [row.key, values[row.key]] as const)
      .filter(([, value]) => value !== undefined),
  );
}
