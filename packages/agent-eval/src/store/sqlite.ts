import { createRequire } from 'node:module';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';

export type SqlValue = string | number | bigint | Uint8Array | null;

/** What `node:sqlite` and `@photostructure/sqlite` have in common, as far as stores need it. */
export interface Statement {
  get(...values: SqlValue[]): Record<string, SqlValue> | undefined;
  all(...values: SqlValue[]): Record<string, SqlValue>[];
  run(...values: SqlValue[]): { changes: number | bigint };
}

export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

type DatabaseClass = new (file: string) => Database;

/** Names are resolved at run time: a bundle carries neither, and Node 20 lacks the first. */
const LIBRARIES = ['node:sqlite', '@photostructure/sqlite'] as const;

export type SqliteLibrary = (typeof LIBRARIES)[number];

/** Loads SQLite from Node, or else from the npm package beside the engine. */
export function loadSqlite(): { DatabaseSync: DatabaseClass; library: SqliteLibrary } {
  const require = createRequire(import.meta.url);
  for (const library of LIBRARIES) {
    try {
      const { DatabaseSync } = quietly(() => require(library)) as { DatabaseSync: DatabaseClass };
      return { DatabaseSync, library };
    } catch (error) {
      if (!isMissing(error)) throw unavailable(error);
    }
  }
  throw unavailable();
}

/** Node warns at the first use that SQLite is young; users of the engine can do nothing about that. */
function quietly<T>(load: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = (() => {}) as typeof emitWarning;
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}

const MISSING = ['ERR_UNKNOWN_BUILTIN_MODULE', 'MODULE_NOT_FOUND'];

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && MISSING.includes(String(error.code));
}

function unavailable(cause?: unknown): AgentEvalError {
  const why = cause instanceof Error ? ` (${cause.message.split('\n')[0]})` : '';
  return new AgentEvalError(
    'store_unavailable',
    `Node ${process.versions.node} has no SQLite and none is installed${why}: run the engine on Node 22.13 or newer, or install it from npm (npm install @tangle-network/agent-eval), which brings SQLite for older Nodes.`,
    { node: process.versions.node },
    { cause },
  );
}

const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOT_A_DATABASE = 26;

/** SQLite's primary result code of an error, or null for an error of another kind. */
export function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : null;
}

export function isCorrupt(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === SQLITE_CORRUPT || code === SQLITE_NOT_A_DATABASE;
}

export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === SQLITE_BUSY;
}
