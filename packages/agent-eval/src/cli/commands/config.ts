import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { Command } from 'commander';
import { processEnvironment } from '../../config/env.js';
import { OPTION_ROWS, type OptionKey } from '../../config/options.js';
import { resolveSettings } from '../../config/resolve.js';
import { type Route, route } from '../../config/routing.js';
import { displayUrl } from '../../core/redact.js';
import type { CommandContext } from '../context.js';
import { addTableOptions, tableArguments } from '../options.js';
import { printable, table } from '../output.js';

export function addConfigCommand(program: Command, { output }: CommandContext): void {
  const config = program
    .command('config')
    .description('print the settings in force and where each came from; secrets are masked')
    .option('--json', 'print JSON');
  addTableOptions(config, 'config').action(() => {
    const env = processEnvironment();
    const { settings, sources } = resolveSettings(env, tableArguments(config, 'config'));
    const rows = OPTION_ROWS.map((row) => {
      const key = row.key as OptionKey;
      const value = settings[key];
      return { setting: key, value: shown(key, value, row.secret === true), source: sources[key] };
    });
    const endpoint = describeRoute(() => route({ settings, env }));
    if (config.opts().json === true) return output.json({ settings: rows, endpoint });
    const lines = rows.map(({ setting, value, source }) => [setting, text(value), source]);
    for (const line of table([['setting', 'value', 'from'], ...lines])) output.data(line);
    output.data('');
    for (const [name, value] of Object.entries(endpoint)) {
      output.data(`${name}: ${printable(text(value))}`);
    }
  });
}

function shown(key: OptionKey, value: unknown, secret: boolean): unknown {
  if (secret && value !== null) return '***';
  if (key !== 'baseUrl' || typeof value !== 'string') return value;
  return /^https?:\/\//i.test(value) && URL.canParse(value) ? displayUrl(value) : '(invalid)';
}

function text(value: unknown): string {
  if (value === null) return '-';
  return typeof value === 'string' ? printable(value) : JSON.stringify(value);
}

/** Where a judgement would go, without its key. */
export function describeRoute(decide: () => Route): Record<string, unknown> {
  try {
    const chosen = decide();
    if (chosen.kind === 'local') return { endpoint: 'local', model: chosen.model };
    const { url, model, provider, keySource } = chosen;
    const endpoint = displayUrl(`${url.origin}${url.path}${url.query}`);
    return { endpoint, provider, model, key: keySource ?? 'none' };
  } catch (error) {
    if (!(error instanceof AgentEvalError)) throw error;
    return { endpoint: null, problem: error.message };
  }
}
