import type { VerdictCache } from '../cache/verdict-cache.js';
import type { Settings } from '../config/resolve.js';
import { systemClock } from '../core/clock.js';

const DAY_MS = 24 * 60 * 60 * 1000;

export type CacheSettings = Pick<Settings, 'cacheMaxMb' | 'cacheMaxDays'>;

/** The verdict cache of a process. Its code is loaded here, the file is opened at the first use. */
export async function verdictCache(
  { cacheMaxMb, cacheMaxDays }: CacheSettings,
  file: string,
  onLookup?: (hit: boolean) => void,
): Promise<VerdictCache> {
  const [{ VerdictCache: Cache }, { VerdictFile }] = await Promise.all([
    import('../cache/verdict-cache.js'),
    import('../cache/verdict-file.js'),
  ]);
  const maxBytes = cacheMaxMb * 1024 * 1024;
  const maxAgeMs = cacheMaxDays === 0 ? null : cacheMaxDays * DAY_MS;
  const warn = warnOnStderr;
  const open = () => VerdictFile.open({ file, clock: systemClock, maxBytes, maxAgeMs, warn });
  return new Cache({ open, warn, onLookup });
}

function warnOnStderr(message: string): void {
  process.stderr.write(`agent-eval: warning: ${message}\n`);
}
