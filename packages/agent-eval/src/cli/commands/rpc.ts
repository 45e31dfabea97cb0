import type { Command } from 'commander';
import type { RpcMode } from '../../entries/rpc.js';
import type { CommandContext } from '../context.js';
import { addTableOptions, tableArguments } from '../options.js';

export function addRpcCommands(program: Command, _context: CommandContext): void {
  const rpc = program
    .command('rpc')
    .description('answer one call, or with --session many, as JSON on stdin and stdout')
    .argument('[method]', 'method to call; without one the input is {"method", "params"}')
    .option('--session', 'serve calls line by line until the input ends');
  addTableOptions(rpc, 'rpc').action(async (method: string | undefined) => {
    const session = rpc.opts().session === true;
    const mode: RpcMode = session
      ? { kind: 'session' }
      : { kind: 'one-shot', method: method ?? null };
    await run(mode, rpc, 'rpc');
  });

  const batch = program
    .command('rpc-batch')
    .description('answer one call a line, in order, as JSON lines on stdin and stdout')
    .argument('<method>', 'method to call for every line')
    .option('--fail-on-error', 'exit with 1 when any line was answered with an error');
  addTableOptions(batch, 'rpc-batch').action(async (method: string) => {
    const failOnError = batch.opts().failOnError === true;
    await run({ kind: 'batch', method, failOnError }, batch, 'rpc-batch');
  });
}

async function run(mode: RpcMode, command: Command, name: string): Promise<void> {
  const { runRpc } = await import('../../entries/rpc.js');
  await runRpc(mode, tableArguments(command, name));
}
