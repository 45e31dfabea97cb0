import type { Command } from 'commander';
import { ageMs, withCacheFile } from '../cache-file.js';
import type { CommandContext } from '../context.js';
import { addTableOptions, tableArguments } from '../options.js';
import { table } from '../output.js';

export function addCacheCommand(program: Command, { output }: CommandContext): void {
  const cache = program.command('cache').description('look at remembered verdicts, or forget them');
  const add = (name: string, description: string): Command =>
    addTableOptions(cache.command(name).description(description), 'cache');

  const stats = add('stats', 'print how much is remembered').option('--json', 'print JSON');
  stats.action(() =>
    withCacheFile(tableArguments(stats, 'cache'), async (file) => {
      const found = await file.stats();
      if (stats.opts().json === true) return output.json(found);
      const time = (ms: number | null): string => (ms === null ? '-' : new Date(ms).toISOString());
      const rows = [
        ['file', found.file],
        ['verdicts', String(found.entries)],
        ['size', `${(found.bytes / 1024 / 1024).toFixed(1)} MB`],
        ['oldest', time(found.oldest)],
        ['newest', time(found.newest)],
      ];
      for (const line of table(rows)) output.data(line);
    }),
  );

  const clear = add('clear', 'forget verdicts').option(
    '--older-than <age>',
    'only those that are older, such as 30d, 12h or 90m',
    ageMs,
  );
  clear.action(() =>
    withCacheFile(tableArguments(clear, 'cache'), async (file) => {
      const count = await file.clear(clear.opts().olderThan);
      output.talk(`${count} ${count === 1 ? 'verdict' : 'verdicts'} deleted`);
    }),
  );
}
