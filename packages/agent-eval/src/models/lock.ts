import { mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { type Clock, systemClock } from '../core/clock.js';
import { newId } from '../core/id.js';

interface Holder {
  host: string;
  pid: number;
}

const BEAT_MS = 5_000;
/** A holder that has not touched its lock for so long is gone, on whatever machine it ran. */
const SILENT_MS = 60_000;
const ATTEMPTS = 3;

/** Texts of the locks of this process: its id alone says nothing, an earlier container may have had it too. */
const ours = new Set<string>();

/** Runs `task` while no other live process holds the lock file. A lock of a dead process is taken over. */
export async function withLock<T>(
  file: string,
  what: string,
  task: () => Promise<T>,
  clock: Clock = systemClock,
): Promise<T> {
  const text = JSON.stringify({ host: hostname(), pid: process.pid, token: newId() });
  ours.add(text);
  try {
    await take(file, what, text, clock);
    return await runTask(file, text, task, clock);
  } finally {
    ours.delete(text);
  }
}

async function runTask<T>(
  file: string,
  text: string,
  task: () => Promise<T>,
  clock: Clock,
): Promise<T> {
  const stopBeating = beat(file, clock);
  try {
    return await task();
  } finally {
    stopBeating();
    // After a long sleep of the machine it may be someone else's by now.
    if ((await read(file)) === text) await rm(file, { force: true });
  }
}

async function take(file: string, what: string, text: string, clock: Clock): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    try {
      await writeFile(file, text, { flag: 'wx' });
      return;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    const found = await read(file);
    if (found === null) continue;
    if (await isLive(file, found, clock)) throw busy(file, what, found);
    await removeStale(file, found, clock);
  }
  throw busy(file, what, '');
}

/** Deletes a stale lock. One process at a time may, or the second would delete the new lock of the first. */
async function removeStale(file: string, found: string, clock: Clock): Promise<void> {
  const guard = `${file}.takeover`;
  try {
    await mkdir(guard);
  } catch {
    // Left by a process that died right here, or in use; then the next attempt sees what came of it.
    if (clock.now() - (await touchedAt(guard)) > SILENT_MS)
      await rm(guard, { recursive: true, force: true });
    return;
  }
  try {
    if ((await read(file)) === found) await rm(file, { force: true });
  } finally {
    await rm(guard, { recursive: true, force: true });
  }
}

async function isLive(file: string, text: string, clock: Clock): Promise<boolean> {
  if (clock.now() - (await touchedAt(file)) > SILENT_MS) return false;
  const holder = parse(text);
  // A file without a holder is just being written, and a holder elsewhere can't be looked up.
  if (holder === null || holder.host !== hostname()) return true;
  return holder.pid === process.pid ? ours.has(text) : runs(holder.pid);
}

function beat(file: string, clock: Clock): () => void {
  let cancel = (): void => {};
  const next = (): void => {
    const touch = (): void => {
      const now = clock.now() / 1000;
      void utimes(file, now, now).catch(() => {});
      next();
    };
    cancel = clock.setTimer(touch, BEAT_MS, { background: true });
  };
  next();
  return () => cancel();
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** When a file was last touched; one that has gone counts as new. */
async function touchedAt(file: string): Promise<number> {
  return stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => Number.POSITIVE_INFINITY,
  );
}

async function read(file: string): Promise<string | null> {
  return readFile(file, 'utf8').catch(() => null);
}

function parse(text: string): Holder | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return null;
    const { host, pid } = value as Partial<Holder>;
    if (typeof host !== 'string' || typeof pid !== 'number') return null;
    return Number.isSafeInteger(pid) && pid > 0 ? { host, pid } : null;
  } catch {
    return null;
  }
}

function busy(file: string, what: string, text: string): AgentEvalError {
  const holder = parse(text);
  const who = holder === null ? '' : ` (${holder.pid} on ${holder.host})`;
  return new AgentEvalError(
    'service_unavailable',
    `Another process${who} is at work on ${what}: wait for it and try again. If there is none, delete ${file}.`,
    holder === null ? {} : { pid: holder.pid },
  );
}
