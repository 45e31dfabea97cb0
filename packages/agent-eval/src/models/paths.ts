import path from 'node:path';

/** Where things lie below the home folder of the local models. */
export interface ModelPaths {
  home: string;
  models: string;
  runtime: string;
  /** The finished file of a model. */
  file(name: string): string;
  /** Parts of a model that is being fetched. */
  parts(name: string): string;
  lock(name: string): string;
  /** Hashes of model files, so that each is read once. */
  hashes: string;
}

export function modelPaths(home: string): ModelPaths {
  const models = path.join(home, 'models');
  return {
    home,
    models,
    runtime: path.join(home, 'runtime'),
    file: (name) => path.join(models, `${name}.gguf`),
    parts: (name) => path.join(models, `${name}.parts`),
    lock: (name) => path.join(models, `${name}.lock`),
    hashes: path.join(home, 'hashes'),
  };
}
