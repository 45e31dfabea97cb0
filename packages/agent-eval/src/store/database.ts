import { closeSync, existsSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { Clock } from '../core/clock.js';
import { type Database, isBusy, loadSqlite } from './sqlite.js';

/** What a file holds: who wrote it, in which layout, and how to lay out a new one. */
export interface Layout {
  /** SQLite's application id: tells our files from those of other programs. */
  applicationId: number;
  version: number;
  schema: string;
}

/** How long a statement waits for another process that writes. */
const BUSY_MS = 2_000;
const OPEN_TRIES = 100;
const OPEN_GAP_MS = 20;

/** Opens a file that several processes may share, and lays it out when it is new. */
export async function openDatabase(file: string, layout: Layout, clock: Clock): Promise<Database> {
  const { DatabaseSync } = loadSqlite();
  createPrivately(file);
  for (let tries = 1; ; tries += 1) {
    const database = new DatabaseSync(file);
    try {
      prepareDatabase(database, file, layout);
      return database;
    } catch (error) {
      database.close();
      // Going over to a write-ahead log does not wait for others by itself.
      if (!isBusy(error) || tries >= OPEN_TRIES) throw error;
      await clock.sleep(OPEN_GAP_MS);
    }
  }
}

/** Only the user may read it: it holds what models said about the user's texts. */
function createPrivately(file: string): void {
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    closeSync(openSync(file, 'a', 0o600));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw unusable(file, `can't be opened for writing (${code})`);
  }
}

function prepareDatabase(database: Database, file: string, layout: Layout): void {
  database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  refuseForeign(database, file, layout);
  database.exec('PRAGMA auto_vacuum = INCREMENTAL');
  database.exec('PRAGMA journal_mode = WAL');
  // A process that is killed loses nothing; only a power cut may take the last entries with it.
  database.exec('PRAGMA synchronous = NORMAL');
  if (pragma(database, 'user_version') === layout.version) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    if (pragma(database, 'user_version') === 0) {
      database.exec(layout.schema);
      database.exec(`PRAGMA application_id = ${layout.applicationId}`);
      database.exec(`PRAGMA user_version = ${layout.version}`);
    }
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

function refuseForeign(database: Database, file: string, layout: Layout): void {
  const tables = Number(database.prepare('SELECT count(*) AS n FROM sqlite_master').get()?.n ?? 0);
  const owner = pragma(database, 'application_id');
  const version = pragma(database, 'user_version');
  if (tables === 0 && owner === 0) return;
  if (owner === layout.applicationId && version === layout.version) return;
  const whose =
    owner === layout.applicationId
      ? 'was written by another version of agent-eval'
      : 'is the database of another program';
  throw unusable(file, whose);
}

function unusable(file: string, why: string): AgentEvalError {
  return new AgentEvalError('store_unavailable', `${file} ${why}: choose another path.`, { file });
}

export function pragma(database: Database, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}

/** Tells whether a path still leads to the same file. */
export function fileIdentity(file: string): string | null {
  try {
    const { dev, ino } = statSync(file);
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}

/**
 * Moves a damaged file and its log out of the way; returns where it went. When another process has done so
 * already, and the path leads to a new file, there is nothing to move.
 */
export function moveAside(file: string, identity: string | null, clock: Clock): string | null {
  if (identity === null || fileIdentity(file) !== identity) return null;
  const stamp = new Date(clock.now()).toISOString().replace(/[-:.]/g, '');
  const target = `${file}.corrupt-${stamp}-${process.pid}`;
  renameSync(file, target);
  for (const suffix of ['-wal', '-shm']) {
    if (existsSync(file + suffix)) renameSync(file + suffix, target + suffix);
  }
  return target;
}
