import type { Clock } from '../core/clock.js';
import { sha256Hex } from '../core/hash.js';
import { fileIdentity, type Layout, moveAside, openDatabase, pragma } from '../store/database.js';
import { type Database, isCorrupt, type Statement } from '../store/sqlite.js';

const LAYOUT: Layout = {
  // "AEvc" in ASCII.
  applicationId: 0x41457663,
  version: 1,
  schema: `
    CREATE TABLE verdicts (key TEXT PRIMARY KEY, at INTEGER NOT NULL, sum TEXT NOT NULL, value TEXT NOT NULL);
    CREATE INDEX verdicts_at ON verdicts (at);
  `,
};

export interface VerdictFileOptions {
  file: string;
  clock: Clock;
  maxBytes: number;
  /** Older entries do not count; null for no limit. */
  maxAgeMs: number | null;
  warn(message: string): void;
}

export interface VerdictFileStats {
  file: string;
  entries: number;
  bytes: number;
  /** Unix time in milliseconds of the first and last entry, null when there is none. */
  oldest: number | null;
  newest: number | null;
}

/** Writes between two looks at the size of the file. */
const TRIM_EVERY = 256;
/** Oldest entries that go at once when the file is full: more than have come since the last look. */
const TRIM_ROWS = 2 * TRIM_EVERY;

/** Looks at a file, and leaves a damaged one as it is. */
export async function inspectVerdictFile(
  file: string,
  clock: Clock,
): Promise<{ entries: number; bytes: number } | 'corrupt'> {
  let database: Database | undefined;
  try {
    database = await openDatabase(file, LAYOUT, clock);
    const damage = database.prepare('PRAGMA quick_check(1)').get()?.quick_check;
    if (damage !== 'ok') return 'corrupt';
    const entries = Number(database.prepare('SELECT count(*) AS n FROM verdicts').get()?.n ?? 0);
    return { entries, bytes: usedBytes(database) };
  } catch (error) {
    if (isCorrupt(error)) return 'corrupt';
    throw error;
  } finally {
    database?.close();
  }
}

interface Open {
  database: Database;
  identity: string | null;
  read: Statement;
  write: Statement;
}

/** Verdicts in a SQLite file that processes may share. A damaged file is moved aside and begun anew. */
export class VerdictFile {
  readonly #options: VerdictFileOptions;
  #open: Open;
  #writes = 0;
  /** Set while a damaged file is replaced; others wait for that. */
  #mending: Promise<void> | null = null;
  #closed = false;

  private constructor(options: VerdictFileOptions, open: Open) {
    this.#options = options;
    this.#open = open;
  }

  static async open(options: VerdictFileOptions): Promise<VerdictFile> {
    return new VerdictFile(options, await openOrReplace(options));
  }

  /** The stored text, or null. */
  async get(key: string): Promise<string | null> {
    const { clock, maxAgeMs } = this.#options;
    const since = maxAgeMs === null ? 0 : clock.now() - maxAgeMs;
    const row = await this.#mended(() => this.#open.read.get(key, since));
    if (row === undefined) return null;
    const value = String(row.value);
    // SQLite does not notice a flipped bit inside a row, and a wrong verdict is worse than none.
    return row.sum === checksum(key, value) ? value : null;
  }

  async put(key: string, value: string): Promise<void> {
    const at = this.#options.clock.now();
    await this.#mended(() => this.#open.write.run(key, at, checksum(key, value), value));
    this.#writes += 1;
    if (this.#writes % TRIM_EVERY === 0) await this.#mended(() => this.#trim());
  }

  async stats(): Promise<VerdictFileStats> {
    const row = await this.#mended(() =>
      this.#open.database
        .prepare('SELECT count(*) AS n, min(at) AS oldest, max(at) AS newest FROM verdicts')
        .get(),
    );
    const time = (value: unknown): number | null => (value === null ? null : Number(value));
    return {
      file: this.#options.file,
      entries: Number(row?.n ?? 0),
      bytes: await this.#mended(() => usedBytes(this.#open.database)),
      oldest: time(row?.oldest ?? null),
      newest: time(row?.newest ?? null),
    };
  }

  /** Deletes entries, those alone that are older when an age is given; returns how many. */
  async clear(olderThanMs?: number): Promise<number> {
    const before =
      olderThanMs === undefined ? Number.MAX_SAFE_INTEGER : this.#options.clock.now() - olderThanMs;
    return this.#mended(() => {
      const { database } = this.#open;
      const { changes } = database.prepare('DELETE FROM verdicts WHERE at < ?').run(before);
      database.prepare('PRAGMA incremental_vacuum').all();
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      return Number(changes);
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#open.database.close();
  }

  #trim(): void {
    const { clock, maxAgeMs, maxBytes } = this.#options;
    const { database } = this.#open;
    const oldest =
      'DELETE FROM verdicts WHERE key IN (SELECT key FROM verdicts WHERE at < ? ORDER BY at LIMIT ?)';
    if (maxAgeMs !== null) database.prepare(oldest).run(clock.now() - maxAgeMs, TRIM_ROWS);
    if (usedBytes(database) > maxBytes) {
      database.prepare(oldest).run(Number.MAX_SAFE_INTEGER, TRIM_ROWS);
    }
  }

  /** Runs a statement; where the file turns out to be damaged, once more on a new one. */
  async #mended<T>(statement: () => T): Promise<T> {
    if (this.#mending !== null) await this.#mending;
    const open = this.#open;
    try {
      return statement();
    } catch (error) {
      if (!isCorrupt(error) || this.#closed) throw error;
      if (this.#open === open) await this.#mend();
      return statement();
    }
  }

  #mend(): Promise<void> {
    const { database, identity } = this.#open;
    database.close();
    this.#mending = replace(this.#options, identity)
      .then((open) => {
        this.#open = open;
      })
      .finally(() => {
        this.#mending = null;
      });
    return this.#mending;
  }
}

async function openOrReplace(options: VerdictFileOptions): Promise<Open> {
  try {
    return await openFile(options);
  } catch (error) {
    if (!isCorrupt(error)) throw error;
    return replace(options, fileIdentity(options.file));
  }
}

async function openFile({ file, clock }: VerdictFileOptions): Promise<Open> {
  const database = await openDatabase(file, LAYOUT, clock);
  return {
    database,
    identity: fileIdentity(file),
    read: database.prepare('SELECT sum, value FROM verdicts WHERE key = ? AND at >= ?'),
    write: database.prepare(
      'INSERT OR REPLACE INTO verdicts (key, at, sum, value) VALUES (?, ?, ?, ?)',
    ),
  };
}

async function replace(options: VerdictFileOptions, identity: string | null): Promise<Open> {
  const moved = moveAside(options.file, identity, options.clock);
  if (moved !== null) {
    options.warn(
      `the cache ${options.file} is damaged: moved to ${moved}, and begun anew without its verdicts`,
    );
  }
  return openFile(options);
}

function usedBytes(database: Database): number {
  const used = pragma(database, 'page_count') - pragma(database, 'freelist_count');
  return used * pragma(database, 'page_size');
}

function checksum(key: string, value: string): string {
  return sha256Hex(`${key}\n${value}`).slice(0, 16);
}
