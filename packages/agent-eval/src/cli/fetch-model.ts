import { childEnvironment, type Environment } from '../config/env.js';
import { stopSignal } from '../entries/process.js';
import { fetchModel, gigabytes } from '../models/fetch.js';
import type { ModelPaths } from '../models/paths.js';
import { knownModel } from '../models/resolve-model.js';
import { fetchRuntime, findRuntime } from '../models/runtime.js';
import type { Output } from './output.js';
import { progressBar } from './progress-bar.js';

/** Fetches a model and the runtime for it, prints the model's path, and gives the exit code. */
export async function fetchModelAndRuntime(
  name: string,
  paths: ModelPaths,
  env: Environment,
  output: Output,
): Promise<number> {
  const known = knownModel(name);
  const stop = stopSignal();
  const how = { env: childEnvironment(env), signal: stop.signal };
  try {
    if (findRuntime(paths) === null) {
      output.talk('runtime: installing node-llama-cpp (83 MB)');
      await fetchRuntime(paths, how);
    }
    output.talk(`model: ${name}, ${gigabytes(known.bytes)}, licence: ${known.licence}`);
    const bar = progressBar(output.talk);
    const file = await fetchModel(known, { ...how, paths, onProgress: bar.show });
    bar.end();
    output.data(file);
    return 0;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    output.talk('stopped; parts that arrived are kept');
    return stop.exitCode() ?? 1;
  }
}
