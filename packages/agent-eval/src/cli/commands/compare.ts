import type { CompareResult } from '@tangle-network/agent-eval-contract';
import type { Command } from 'commander';
import { comparisonLines } from '../compare-output.js';
import type { CommandContext } from '../context.js';
import { count } from '../judge-flags.js';
import { collect, readContent, readContext } from '../judge-input.js';
import { oneCall } from '../one-call.js';
import { addTableOptions, tableArguments } from '../options.js';

export function addCompareCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('compare')
    .description('tell which of two texts is better by a rubric')
    .argument('<a>', 'file with one text')
    .argument('<b>', 'file with the other; one of the two may be - for stdin')
    .requiredOption('--rubric <name|file>', 'name of a rubric, or a JSON or YAML file')
    .option(
      '--context <key=value>',
      'shown beside the texts, such as question=…; may be repeated',
      collect,
    )
    .option('--context-file <file>', 'JSON file with the context')
    .option('--samples <n>', 'compare so often, 1 to 64; most comparisons decide', count)
    .option('--no-swap', 'ask in one order only, with the first text first')
    .option('--checks', 'judge each text alone by the yes/no questions of the rubric')
    .option('--json', 'print the comparison as JSON');
  addTableOptions(command, 'compare').action(async (a: string, b: string) => {
    const options = command.opts();
    if (a === '-' && b === '-') command.error('error: only one of the two texts can be stdin');
    const { context: shown } = await readContext(options.context, options.contextFile);
    const code = await oneCall<CompareResult>(
      {
        method: 'compare',
        rubric: String(options.rubric),
        params: {
          a: await readContent(a),
          b: await readContent(b),
          context: shown,
          samples: options.samples,
          swap: options.swap === false ? false : undefined,
          scoreMode: options.checks === true ? 'checks' : undefined,
        },
        json: options.json === true,
        lines: (result) => comparisonLines(result, context.output),
      },
      tableArguments(command, 'compare'),
      context.output,
    );
    context.finish(code);
  });
}
