import { existsSync } from 'node:fs';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { InvalidArgumentError } from 'commander';
import type { VerdictFile } from '../cache/verdict-file.js';
import { processEnvironment } from '../config/env.js';
import { type Arguments, resolveSettings } from '../config/resolve.js';
import { verdictCache } from '../entries/verdict-cache.js';

/** Opens the cache that flags or environment name, and closes it after use; makes none. */
export async function withCacheFile(
  args: Arguments,
  use: (file: VerdictFile) => Promise<void>,
): Promise<void> {
  const { settings } = resolveSettings(processEnvironment(), args);
  const { cache: name } = settings;
  if (name === null || !existsSync(name)) {
    const why = name === null ? 'Name the cache' : `There is no ${name} yet; name another cache`;
    throw new AgentEvalError('validation_error', `${why}: --cache FILE, or AGENT_EVAL_CACHE.`);
  }
  const cache = await verdictCache(settings, name);
  try {
    await use(await cache.file());
  } finally {
    await cache.close();
  }
}

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Reads an age such as 30d or 90m. */
export function ageMs(text: string): number {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text.trim()) ?? [];
  const seconds = UNITS[unit];
  if (count !== undefined && seconds !== undefined) return Number(count) * seconds * 1000;
  throw new InvalidArgumentError('must be a number with s, m, h or d, such as 30d.');
}
