import type { Command } from 'commander';
import { processEnvironment } from '../../config/env.js';
import { resolveSettings } from '../../config/resolve.js';
import { RubricCatalog } from '../../rubrics/catalog.js';
import { readRubricFile } from '../../rubrics/file.js';
import { rubricVersion } from '../../rubrics/version.js';
import type { CommandContext } from '../context.js';
import { addTableOptions, tableArguments } from '../options.js';
import { printable, table } from '../output.js';

export function addRubricsCommand(program: Command, { output }: CommandContext): void {
  const rubrics = program.command('rubrics').description('list, show and check rubrics');
  const open = (command: Command): Promise<RubricCatalog> =>
    RubricCatalog.open(
      resolveSettings(processEnvironment(), tableArguments(command, 'rubrics')).settings.rubricsDir,
    );

  const list = rubrics
    .command('list', { isDefault: true })
    .description('list the rubrics known by name')
    .option('--json', 'print JSON');
  addTableOptions(list, 'rubrics').action(async () => {
    const known = await (await open(list)).list();
    if (list.opts().json === true) return output.json({ rubrics: known });
    const rows = known.map((rubric) => [
      rubric.name,
      rubric.hasChecks ? 'any model' : 'hosted models',
      rubric.description,
    ]);
    for (const line of table([['name', 'judged by', 'description'], ...rows])) {
      output.data(printable(line));
    }
  });

  const show = rubrics
    .command('show')
    .description('print a rubric as JSON')
    .argument('<name>', 'name of the rubric');
  addTableOptions(show, 'rubrics').action(async (name: string) => {
    output.json((await (await open(show)).get(name)).rubric);
  });

  const check = rubrics
    .command('check')
    .description('check rubric files (JSON or YAML)')
    .argument('<file...>', 'files to check');
  addTableOptions(check, 'rubrics').action(async (files: string[]) => {
    for (const file of files) {
      const { rubric } = await readRubricFile(file);
      const unchecked = rubric.dimensions.filter((dimension) => dimension.checks === undefined);
      output.data(printable(`${file}: ok, ${rubricVersion(rubric)}`));
      if (unchecked.length > 0) {
        output.talk(
          `  without checks: ${unchecked.map(({ id }) => id).join(', ')} (needed by local models)`,
        );
      }
    }
  });
}
