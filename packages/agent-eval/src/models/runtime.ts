import { existsSync } from 'node:fs';
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
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
  const peer = resolveFrom(import.meta.url, RUNTIME);
  if (peer !== null) return { entry: peer, source: 'peer' };
  const cached = installed(paths.runtime);
  return cached === null ? null : { entry: cached, source: 'cache' };
}

/** Entry of the runtime in a folder of ours, when the library for this platform lies beside it. */
function installed(folder: string): string | null {
  const library = platformPackage();
  const from = path.join(folder, 'package.json');
  if (library === undefined || !existsSync(path.join(folder, 'node_modules', library))) return null;
  return resolveFrom(from, RUNTIME);
}

function resolveFrom(from: string, name: string): string | null {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return null;
  }
}

function platformPackage(): string | undefined {
  return PLATFORM_PACKAGES[`${process.platform}-${process.arch}`];
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
    const runtime: unknown = await import(pathToFileURL(found.entry).href);
    if (hasCalls(runtime)) return runtime;
  } catch (error) {
    throw unusable(found, paths, error);
  }
  throw unusable(found, paths, undefined);
}

/** The calls that we make; an old or half deleted package lacks them. */
function hasCalls(runtime: unknown): boolean {
  const calls = runtime as Record<string, unknown>;
  return ['getLlama', 'resolveChatWrapper', 'LlamaText'].every(
    (name) => typeof calls[name] === 'function',
  );
}

function unusable(
  { entry, source }: RuntimeLocation,
  paths: ModelPaths,
  cause: unknown,
): AgentEvalError {
  const mend =
    source === 'cache'
      ? `delete ${paths.runtime} and run agent-eval model fetch NAME`
      : `install ${RUNTIME}@${RUNTIME_VERSION} in its place, or remove it and run agent-eval model fetch NAME`;
  return new AgentEvalError(
    'local_runtime_missing',
    `The runtime for local models in ${entry} does not load: ${mend}.`,
    { entry },
    { cause },
  );
}

export interface RuntimeFetchOptions {
  env: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Default: the npm of this Node. */
  npm?: readonly [string, ...string[]];
}

/** Installs the runtime into the cache folder with the user's npm, unless it is somewhere already. */
export async function fetchRuntime(paths: ModelPaths, options: RuntimeFetchOptions): Promise<void> {
  if (findRuntime(paths) !== null) return;
  const library = platformPackage();
  if (library === undefined) {
    throw new AgentEvalError(
      'local_runtime_missing',
      `There is no prebuilt runtime for ${process.platform} on ${process.arch}: use a hosted model.`,
    );
  }
  await mkdir(paths.home, { recursive: true });
  await withLock(path.join(paths.home, 'runtime.lock'), 'the runtime', async () => {
    if (installed(paths.runtime) === null) await install(paths, library, options);
  });
}

/** Installs beside the final place and moves it there whole, so that a broken-off install is never found. */
async function install(
  paths: ModelPaths,
  library: string,
  options: RuntimeFetchOptions,
): Promise<void> {
  const staging = `${paths.runtime}.partial`;
  await rm(staging, { recursive: true, force: true });
  await mkdir(staging, { recursive: true });
  await writeFile(path.join(staging, 'package.json'), '{"private": true}\n');
  const { ok, said } = await runCommand(
    [
      ...(options.npm ?? (await npmCommand())),
      'install',
      // A setting of the user's may say otherwise, and send the packages elsewhere.
      '--global=false',
      '--omit=optional',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      `${RUNTIME}@${RUNTIME_VERSION}`,
      `${library}@${RUNTIME_VERSION}`,
    ],
    { env: options.env, signal: options.signal, cwd: staging },
  );
  if (!ok || installed(staging) === null) {
    throw new AgentEvalError(
      'local_runtime_missing',
      `npm could not install ${RUNTIME}: ${said}. Run the same command again, or install ${RUNTIME}@${RUNTIME_VERSION} beside the engine.`,
    );
  }
  await rm(paths.runtime, { recursive: true, force: true });
  await rename(staging, paths.runtime);
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
