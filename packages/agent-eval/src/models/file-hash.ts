import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sha256Hex } from '../core/hash.js';
import type { ModelPaths } from './paths.js';

interface Remembered {
  size: number;
  mtimeMs: number;
  sha256: string;
}

/** SHA-256 of a model file, read once for each state of the file. */
export async function fileHash(paths: ModelPaths, file: string): Promise<string> {
  const { size, mtimeMs } = await stat(file);
  const known = await recall(paths, file);
  if (known !== null && known.size === size && known.mtimeMs === mtimeMs) return known.sha256;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk);
  const sha256 = hash.digest('hex');
  await rememberHash(paths, file, sha256);
  return sha256;
}

/** Notes a hash that is known already. A folder that can't be written only costs time. */
export async function rememberHash(paths: ModelPaths, file: string, sha256: string): Promise<void> {
  const { size, mtimeMs } = await stat(file);
  const note: Remembered = { size, mtimeMs, sha256 };
  try {
    await mkdir(paths.hashes, { recursive: true });
    await writeFile(noteFile(paths, file), JSON.stringify(note));
  } catch {
    // The hash is computed again next time.
  }
}

async function recall(paths: ModelPaths, file: string): Promise<Remembered | null> {
  try {
    const note = JSON.parse(await readFile(noteFile(paths, file), 'utf8')) as Remembered;
    return /^[0-9a-f]{64}$/.test(note.sha256) ? note : null;
  } catch {
    return null;
  }
}

function noteFile(paths: ModelPaths, file: string): string {
  return path.join(paths.hashes, `${sha256Hex(path.resolve(file))}.json`);
}
