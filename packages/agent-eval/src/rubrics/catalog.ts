import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  AgentEvalError,
  type RubricDetail,
  type RubricSummary,
} from '@tangle-network/agent-eval-contract';
import { nearNames } from '../core/text.js';
import type { Calibration, RubricEntry } from './entry.js';
import { RUBRIC_EXTENSIONS, readRubricFile } from './file.js';
import { rubricVersion } from './version.js';

/** Folder of the built-in rubrics: beside this module in the source, beside the bundle when built. */
const BUILTIN_DIR = fileURLToPath(new URL('./builtin/', import.meta.url));

/**
 * The rubrics the engine knows by name: the built-in ones, and those of a folder of the user, which win
 * over a built-in of the same name. A built-in file is read when it is first asked for.
 */
export class RubricCatalog {
  readonly #entries = new Map<string, Promise<RubricEntry>>();
  readonly #own = new Map<string, RubricEntry>();
  #builtinNames: Promise<string[]> | undefined;

  /** Reads every rubric of the folder; a file that is no rubric is an error that names it. */
  static async open(folder: string | null): Promise<RubricCatalog> {
    const catalog = new RubricCatalog();
    if (folder !== null) await catalog.#readFolder(folder);
    return catalog;
  }

  /** Makes a rubric known by its name, in place of any other of that name. */
  add(entry: RubricEntry): void {
    this.#own.set(entry.rubric.name, entry);
  }

  async get(name: string): Promise<RubricEntry> {
    const own = this.#own.get(name);
    if (own !== undefined) return own;
    const names = await this.#names();
    if (!names.includes(name)) throw notFound(name, [...names, ...this.#own.keys()]);
    const entry = this.#entries.get(name) ?? readRubricFile(path.join(BUILTIN_DIR, `${name}.json`));
    this.#entries.set(name, entry);
    return entry;
  }

  async list(): Promise<RubricSummary[]> {
    const entries = await this.#all();
    return entries.map(({ rubric }) => ({
      name: rubric.name,
      description: rubric.description,
      rubricVersion: rubricVersion(rubric),
      dimensions: rubric.dimensions.map(({ id }) => id),
      hasChecks: rubric.dimensions.every(({ checks }) => checks !== undefined),
    }));
  }

  async detail(name: string): Promise<RubricDetail> {
    const { rubric } = await this.get(name);
    return { rubric, rubricVersion: rubricVersion(rubric) };
  }

  /** Stored calibration of every rubric, for rubrics that come with a request. */
  async calibration(): Promise<Calibration[]> {
    return (await this.#all()).flatMap((entry) => entry.calibration);
  }

  async #all(): Promise<RubricEntry[]> {
    const names = new Set([...(await this.#names()), ...this.#own.keys()]);
    return Promise.all([...names].sort().map((name) => this.get(name)));
  }

  #names(): Promise<string[]> {
    this.#builtinNames ??= readdir(BUILTIN_DIR).then((files) =>
      files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length)),
    );
    return this.#builtinNames;
  }

  async #readFolder(folder: string): Promise<void> {
    const files = await readdir(folder).catch(() => {
      throw new AgentEvalError('validation_error', `The rubric folder ${folder} can't be read.`, {
        issues: [{ path: folder, message: 'is not a readable folder' }],
      });
    });
    const wanted: readonly string[] = RUBRIC_EXTENSIONS;
    for (const file of files.sort()) {
      if (!wanted.includes(path.extname(file).toLowerCase())) continue;
      const entry = await readRubricFile(path.join(folder, file));
      if (this.#own.has(entry.rubric.name)) {
        throw new AgentEvalError(
          'validation_error',
          `${path.join(folder, file)}: another file there already has the name "${entry.rubric.name}".`,
          { issues: [{ path: file, message: 'repeats a rubric name' }] },
        );
      }
      this.add(entry);
    }
  }
}

function notFound(name: string, known: string[]): AgentEvalError {
  const near = nearNames(name, known);
  const hint =
    near.length > 0 ? `Did you mean ${near.join(' or ')}?` : `Known: ${known.join(', ')}.`;
  return new AgentEvalError('rubric_not_found', `No rubric is named "${name}". ${hint}`, {
    name,
    near,
  });
}
