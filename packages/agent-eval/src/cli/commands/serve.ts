import type { Command } from 'commander';
import type { CommandContext } from '../context.js';
import { addTableOptions, tableArguments } from '../options.js';

export function addServeCommand(program: Command, { finish }: CommandContext): void {
  const serve = program
    .command('serve')
    .description('serve the API over HTTP until SIGINT or SIGTERM');
  addTableOptions(serve, 'serve').action(async () => {
    const { runServe } = await import('../../entries/serve.js');
    finish(await runServe(tableArguments(serve, 'serve')));
  });
}
