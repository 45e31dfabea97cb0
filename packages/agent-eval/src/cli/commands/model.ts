import type { Command } from 'commander';
import { processEnvironment } from '../../config/env.js';
import { resolveSettings } from '../../config/resolve.js';
import { localPaths } from '../../entries/local-paths.js';
import { gigabytes } from '../../models/fetch.js';
import type { ModelPaths } from '../../models/paths.js';
import { listModels, removeModel, resolveModel } from '../../models/resolve-model.js';
import type { CommandContext } from '../context.js';
import { fetchModelAndRuntime } from '../fetch-model.js';
import { addTableOptions, tableArguments } from '../options.js';
import { table } from '../output.js';

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
  fetch.action(async (name: string) =>
    finish(await fetchModelAndRuntime(name, pathsFor(fetch), env, output)),
  );

  const where = add('path', 'print the path of a model').argument('<name>');
  where.action(async (name: string) => {
    output.data((await resolveModel(name, pathsFor(where))).file);
  });

  const remove = add('rm', 'delete a fetched model').argument('<name>');
  remove.action(async (name: string) => {
    const there = await removeModel(name, pathsFor(remove));
    output.talk(there ? `${name} deleted` : `${name} was not there`);
  });
}
