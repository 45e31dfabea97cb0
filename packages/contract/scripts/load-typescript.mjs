import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

/** Imports TypeScript sources: `input` is what esbuild takes, `entryPoints` or `stdin`. */
export async function loadTypeScript(input) {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-eval-load-'));
  try {
    const outfile = path.join(folder, 'module.mjs');
    const how = { bundle: true, format: 'esm', platform: 'node', logLevel: 'error' };
    await build({ ...input, ...how, outfile });
    return await import(pathToFileURL(outfile).href);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
