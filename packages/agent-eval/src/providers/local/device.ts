import { readFile } from 'node:fs/promises';
import { availableParallelism, freemem, totalmem } from 'node:os';

/** What macOS keeps for itself, roughly. */
const MACOS_BYTES = 3e9;

/**
 * Memory that a model may take. Not `process.availableMemory()`: in a container that counts the cache of
 * files as used, and a model that was just fetched is all cache.
 */
export function availableMemory(): number {
  // macOS reports only memory that nothing uses, not even as a cache of files.
  if (process.platform === 'darwin') return totalmem() - MACOS_BYTES;
  const limit = process.constrainedMemory();
  if (limit === undefined || limit <= 0 || limit > totalmem()) return freemem();
  return Math.min(freemem(), limit - process.memoryUsage.rss());
}

/** Cores that may be used, with the limit of a Linux container, which Node 20 does not see. */
export async function availableCores(): Promise<number> {
  const cores = availableParallelism();
  const [quota, period] = await readFile('/sys/fs/cgroup/cpu.max', 'utf8').then(
    (text) => text.trim().split(' ').map(Number),
    () => [],
  );
  if (quota === undefined || period === undefined || !(quota > 0) || !(period > 0)) return cores;
  return Math.max(1, Math.min(cores, Math.floor(quota / period)));
}
