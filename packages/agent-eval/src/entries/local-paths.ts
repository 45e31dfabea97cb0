import { homedir } from 'node:os';
import { defaultHome, type Environment } from '../config/env.js';
import { type ModelPaths, modelPaths } from '../models/paths.js';

/** Paths of the local models: the folder that was set, else the user's cache folder. */
export function localPaths(home: string | null, env: Environment): ModelPaths {
  return modelPaths(home ?? defaultHome(env, process.platform, homedir()));
}
