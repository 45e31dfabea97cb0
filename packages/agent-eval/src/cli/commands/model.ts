import type { Command } from 'commander';
import { childEnvironment, type Environment, processEnvironment } from '../../config/env.js';
import { resolveSettings } from '../../config/resolve.js';
import { localPaths } from '../../entries/local-paths.js';
import { stopSignal } from '../../entries/process.js';
import { fetchModel, gigabytes } from '../../models/fetch.js';
import type { ModelPaths } from '../../models/paths.js';
import { knownModel, listModels, removeModel, resolveModel } from '../../models/resolve-model.js';
import { fetchRuntime, findRuntime } from '../../models/runtime.js';
import type { CommandContext } from '../main.js';
import { addTableOptions, tableArguments } from '../options.js';
import { table } from '../output.js';
import { progressBar } from '../progress-bar.js';

export function addModelCommand(program: Command, { output, finish }: CommandContext): void {
  const model = program.command('model').description('fetch and list local models');
  const env = processEnvironment();
  const add = (name: string, description: string): Command =>
    addTableOptions(model.command(name).description(description), 'model');
  const pathsFor = (command: Command): ModelPaths =>
    localPaths(resolveSettings(env, tableArguments(command, 'model')).settings.home, env);

  const list = add('list', 'list the models that can be fetched, and those that are there').option(
    '--json',
    'print JSON',
  );
  list.action(async () => {
    const models = await listModels(pathsFor(list));
    if (list.opts().json === true) return output.json({ models });
    const rows = models.map(({ name, fetched, bytes, description }) => [
      name,
      fetched ? 'fetched' : '-',
      gigabytes(bytes),
      description,
    ]);
    for (const line of table(rows)) output.data(line);
  });

  const fetch = add('fetch', 'fetch a model and the runtime for it').argument('<name>');
  fetch.action(async (name: string) => {
    const stop = stopSignal();
    try {
      output.data(await fetchAll(name, pathsFor(fetch), env, stop.signal, output));
    } catch (error) {
      if (!stop.signal.aborted) throw error;
      output.talk('stopped; parts that arrived are kept');
      finish(stop.exitCode() ?? 1);
    }
  });

  const where = add('path', 'print the path of a fetched model').argument('<name>');
  where.action(async (name: string) => {
    output.data((await resolveModel(name, pathsFor(where))).file);
  });

  const remove = add('rm', 'delete a fetched model').argument('<name>');
  remove.action(async (name: string) => {
    const there = await removeModel(name, pathsFor(remove));
    output.talk(there ? `${name} deleted` : `${name} was not there`);
  });
}

async function fetchAll(
  name: string,
  paths: ModelPaths,
  env: Environment,
  signal: AbortSignal,
  output: CommandContext['output'],
): Promise<string> {
  const known = knownModel(name);
  const child = childEnvironment(env);
  if (findRuntime(paths) === null) {
    output.talk('runtime: installing node-llama-cpp (83 MB)');
    await fetchRuntime(paths, { env: child, signal });
  }
  output.talk(`model: ${name}, ${gigabytes(known.bytes)}, licence: ${known.licence}`);
  const bar = progressBar(output.talk);
  const file = await fetchModel(known, { paths, env: child, signal, onProgress: bar.show });
  bar.end();
  return file;
}
