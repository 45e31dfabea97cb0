import { openApiDocument } from '@tangle-network/agent-eval-contract';
import type { Command } from 'commander';
import type { CommandContext } from '../context.js';
import { addTableOptions } from '../options.js';

export function addOpenApiCommand(program: Command, { output }: CommandContext): void {
  const openapi = program.command('openapi').description('print the OpenAPI 3.1 document');
  addTableOptions(openapi, 'openapi').action(() => output.json(openApiDocument()));
}
