import { mkdir, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { withLock } from './lock.js';
import type { ModelPaths } from './paths.js';
import { runCommand } from './run-command.js';

const RUNTIME = 'node-llama-cpp';
const RUNTIME_VERSION = '3.21.1';

/** Package with the prebuilt library for each platform; the GPU variants weigh 650 MB more. */
const PLATFORM_PACKAGES: Readonly<Record<string, string>> = {
  'linux-x64': '@node-llama-cpp/linux-x64',
  'linux-arm64': '@node-llama-cpp/linux-arm64',
  'darwin-arm64': '@node-llama-cpp/mac-arm64-metal',
  'darwin-x64': '@node-llama-cpp/mac-x64',
  'win32-x64': '@node-llama-cpp/win-x64',
  'win32-arm64': '@node-llama-cpp/win-arm64',
};

/** Where the runtime was found: installed beside the engine, or in the cache folder. */
export interface RuntimeLocation {
  entry: string;
  source: 'peer' | 'cache';
}

/** Looks for node-llama-cpp; null when it is nowhere. */
export function findRuntime(paths: ModelPaths): RuntimeLocation | null {
  const places = [
    { from: import.meta.url, source: 'peer' },
    { from: path.join(paths.runtime, 'package.json'), source: 'cache' },
  ] as const;
  for (const { from, source } of places) {
    try {
      return { entry: createRequire(from).resolve(RUNTIME), source };
    } catch {
      // Not there: look in the next place.
    }
  }
  return null;
}

/** Loads the runtime. Its types are its own business: callers describe the few calls they make. */
export async function loadRuntime(paths: ModelPaths): Promise<unknown> {
  const found = findRuntime(paths);
  if (found === null) {
    throw new AgentEvalError(
      'local_runtime_missing',
      'The runtime for local models is not installed: agent-eval model fetch NAME puts it there with the model, or install node-llama-cpp beside the engine.',
    );
  }
  try {
    return await import(pathToFileURL(found.entry).href);
  } catch (error) {
    throw new AgentEvalError(
      'local_runtime_missing',
      `The runtime for local models in ${found.entry} does not load: delete ${paths.runtime} and run agent-eval model fetch NAME.`,
      {},
      { cause: error },
    );
  }
}

export interface RuntimeFetchOptions {
  env: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/** Installs the runtime into the cache folder with the user's npm, unless it is somewhere already. */
export async function fetchRuntime(paths: ModelPaths, options: RuntimeFetchOptions): Promise<void> {
  if (findRuntime(paths) !== null) return;
  const platform = PLATFORM_PACKAGES[`${process.platform}-${process.arch}`];
  if (platform === undefined) {
    throw new AgentEvalError(
      'local_runtime_missing',
      `There is no prebuilt runtime for ${process.platform} on ${process.arch}: use a hosted model.`,
    );
  }
  await mkdir(paths.runtime, { recursive: true });
  await withLock(path.join(paths.home, 'runtime.lock'), 'the runtime', async () => {
    if (findRuntime(paths) !== null) return;
    await writeFile(path.join(paths.runtime, 'package.json'), '{"private": true}\n');
    const { ok, said } = await runCommand(
      [
        ...(await npmCommand()),
        'install',
        '--omit=optional',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        '--loglevel=error',
        `${RUNTIME}@${RUNTIME_VERSION}`,
        `${platform}@${RUNTIME_VERSION}`,
      ],
      { ...options, cwd: paths.runtime },
    );
    if (!ok) {
      throw new AgentEvalError(
        'local_runtime_missing',
        `npm could not install ${RUNTIME}: ${said}. Run the same command again, or install ${RUNTIME}@${RUNTIME_VERSION} beside the engine.`,
      );
    }
  });
}

/** The npm that came with this Node, else the one on PATH. */
async function npmCommand(): Promise<[string, ...string[]]> {
  const folder = path.dirname(process.execPath);
  for (const script of [
    path.join(folder, '../lib/node_modules/npm/bin/npm-cli.js'),
    path.join(folder, 'node_modules/npm/bin/npm-cli.js'),
  ]) {
    const there = await stat(script).then(
      () => true,
      () => false,
    );
    if (there) return [process.execPath, script];
  }
  return ['npm'];
}
