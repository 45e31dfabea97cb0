import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { Environment } from '../config/env.js';
import { systemClock } from '../core/clock.js';
import { catalogueModel } from '../models/catalogue.js';
import type { LocalModelFile } from '../models/resolve-model.js';
import type { YesNoModel } from '../providers/local/types.js';
import { localPaths } from './local-paths.js';

/** The local models of a process: one in memory at a time. */
export interface LocalModels {
  get(name: string): Promise<YesNoModel>;
  close(): Promise<void>;
}

const IDLE_MS = 5 * 60 * 1000;

export interface LocalModelsOptions {
  home: string | null;
  env: Environment;
  queueLimit: number;
  localThreads: number;
  /** Whether a model that is no judge may answer all the same. */
  allowUncalibrated: boolean;
}

export function localModels(options: LocalModelsOptions): LocalModels {
  let current: { name: string; model: Promise<YesNoModel> } | null = null;
  const open = async (name: string, previous: Promise<YesNoModel> | undefined) => {
    await previous?.then(
      (model) => model.close(),
      () => {},
    );
    return openModel(name, options);
  };
  return {
    get(name) {
      if (current?.name === name) return current.model;
      const opened = { name, model: open(name, current?.model) };
      current = opened;
      // A model that could not be opened is tried anew by the next call.
      opened.model.catch(() => {
        if (current === opened) current = null;
      });
      return opened.model;
    },
    async close() {
      await current?.model.then(
        (model) => model.close(),
        () => {},
      );
    },
  };
}

async function openModel(name: string, options: LocalModelsOptions): Promise<YesNoModel> {
  const [{ resolveModel }, { fileHash }, { loadRuntime }, { LlamaYesNo }] = await Promise.all([
    import('../models/resolve-model.js'),
    import('../models/file-hash.js'),
    import('../models/runtime.js'),
    import('../providers/local/llama-yes-no.js'),
  ]);
  const paths = localPaths(options.home, options.env);
  const found = await resolveModel(name, paths);
  if (found.role === 'mechanics' && !options.allowUncalibrated) throw notAJudge(name);
  return new LlamaYesNo({
    name: found.name,
    file: found.file,
    bytes: found.bytes,
    fileSha256: async () => checkHash(found, await fileHash(paths, found.file)),
    loadRuntime: () => loadRuntime(paths),
    clock: systemClock,
    idleMs: IDLE_MS,
    queueLimit: options.queueLimit,
    threads: options.localThreads,
  });
}

/** A fetched file that has changed since would judge without anybody noticing. */
function checkHash(found: LocalModelFile, sha256: string): string {
  const expected = found.role === 'own' ? sha256 : catalogueModel(found.name)?.sha256;
  if (sha256 === expected) return sha256;
  throw new AgentEvalError(
    'local_model_invalid',
    `${found.file} is not the file that was fetched: agent-eval model rm ${found.name}, then agent-eval model fetch ${found.name}.`,
    { expected, found: sha256 },
  );
}

function notAJudge(name: string): AgentEvalError {
  return new AgentEvalError(
    'validation_error',
    `The model ${name} only shows that the machinery works; its answers are no judgements. Use another model, or take meaningless scores with --allow-uncalibrated.`,
    { issues: [{ path: 'model', message: 'is no judge' }] },
  );
}
