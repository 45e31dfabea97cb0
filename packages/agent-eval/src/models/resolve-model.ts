import { existsSync } from 'node:fs';
import { open, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { nearNames } from '../core/text.js';
import { CATALOGUE, type CatalogueModel, catalogueModel } from './catalogue.js';
import { gigabytes } from './fetch.js';
import { withLock } from './lock.js';
import type { ModelPaths } from './paths.js';

/** A local model that is there. */
export interface LocalModelFile {
  /** Catalogue name, or the file's name without its ending. */
  name: string;
  file: string;
  bytes: number;
  role: CatalogueModel['role'] | 'own';
}

/** Finds the file of `local/NAME` or `local/PATH.gguf` and checks that it is GGUF. */
export async function resolveModel(name: string, paths: ModelPaths): Promise<LocalModelFile> {
  const isPath = name.toLowerCase().endsWith('.gguf') || name.includes('/') || name.includes('\\');
  const file = isPath ? path.resolve(name) : paths.file(name);
  const bytes = await stat(file).then(
    (found) => (found.isFile() ? found.size : null),
    () => null,
  );
  if (bytes === null) throw isPath ? noFile(file) : notFetched(name);
  const known = isPath ? undefined : catalogueModel(name);
  if (known !== undefined && known.bytes !== bytes)
    throw damaged(file, `agent-eval model rm ${name} and agent-eval model fetch ${name}`);
  await checkMagic(file);
  return {
    name: isPath ? path.basename(file).replace(/\.gguf$/i, '') : name,
    file,
    bytes,
    role: known?.role ?? 'own',
  };
}

const MAGIC = 'GGUF';

async function checkMagic(file: string): Promise<void> {
  const handle = await open(file).catch((error: unknown) => {
    throw new AgentEvalError(
      'local_model_invalid',
      `The file ${file} can't be read: check its rights.`,
      { file },
      { cause: error },
    );
  });
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    if (bytesRead === 4 && buffer.toString('latin1') === MAGIC) return;
  } finally {
    await handle.close();
  }
  throw damaged(file, 'name a GGUF file');
}

/** Every model of the catalogue, and what else lies in the folder. */
export async function listModels(
  paths: ModelPaths,
): Promise<{ name: string; fetched: boolean; bytes: number; description: string }[]> {
  const files = await readdir(paths.models).catch(() => []);
  const names = files.filter((file) => file.endsWith('.gguf')).map((file) => file.slice(0, -5));
  const known = CATALOGUE.map(({ name, bytes, description }) => ({
    name,
    bytes,
    description,
    fetched: names.includes(name),
  }));
  const own = names
    .filter((name) => catalogueModel(name) === undefined)
    .map(async (name) => ({
      name,
      bytes: (await stat(paths.file(name))).size,
      description: 'a file of your own',
      fetched: true,
    }));
  return [...known, ...(await Promise.all(own))];
}

/** Deletes a fetched model with what is left of its parts. Tells whether there was anything. */
export async function removeModel(name: string, paths: ModelPaths): Promise<boolean> {
  const names = (await listModels(paths)).map((model) => model.name);
  if (!names.includes(name)) throw notFetched(name);
  const left = [paths.file(name), paths.parts(name)].filter((file) => existsSync(file));
  if (left.length === 0) return false;
  await withLock(paths.lock(name), `the model ${name}`, async () => {
    for (const file of left) await rm(file, { recursive: true, force: true });
  });
  return true;
}

/** The model of the catalogue with that name, or an error that lists the names. */
export function knownModel(name: string): CatalogueModel {
  const known = catalogueModel(name);
  if (known === undefined) throw notFetched(name);
  return known;
}

function notFetched(name: string): AgentEvalError {
  const known = catalogueModel(name);
  if (known !== undefined) {
    return new AgentEvalError(
      'local_model_missing',
      `The local model ${name} has not been fetched: agent-eval model fetch ${name} (${gigabytes(known.bytes)}).`,
      { model: name },
    );
  }
  const names = CATALOGUE.map((model) => model.name);
  const near = nearNames(name, names);
  return new AgentEvalError(
    'local_model_missing',
    `No local model is named "${name}": ${near.length > 0 ? `did you mean ${near.join(' or ')}?` : `known are ${names.join(', ')}; or give the path of a GGUF file.`}`,
    { model: name, near },
  );
}

function noFile(file: string): AgentEvalError {
  return new AgentEvalError('local_model_missing', `There is no file ${file}: check the path.`, {
    file,
  });
}

function damaged(file: string, mend: string): AgentEvalError {
  return new AgentEvalError('local_model_invalid', `${file} is not a whole GGUF file: ${mend}.`, {
    file,
  });
}
