import { type Command, InvalidArgumentError } from 'commander';
import type { CommandContext } from '../context.js';
import { addJudgeFlags, judgeFields } from '../judge-flags.js';
import { collect, readContent, readContext } from '../judge-input.js';
import { judgeText } from '../judge-text.js';
import { addTableOptions, tableArguments } from '../options.js';

export function addJudgeCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('judge')
    .description('judge a text by a rubric')
    .argument('[file]', 'file with the text; - or nothing reads stdin')
    .requiredOption('--rubric <name|file>', 'name of a rubric, or a JSON or YAML file')
    .option(
      '--context <key=value>',
      'shown beside the text, such as question=…; may be repeated',
      collect,
    )
    .option('--context-file <file>', 'JSON file with the context')
    .option('--gate <score>', 'exit with 4 when the composite is lower', gateValue)
    .option('--json', 'print the verdict as JSON')
    .option('--raw', 'include the reply of the model in the JSON');
  addTableOptions(addJudgeFlags(command), 'judge').action(async (file: string | undefined) => {
    const options = command.opts();
    const code = await judgeText(
      {
        content: await readContent(file),
        rubric: String(options.rubric),
        ...(await readContext(options.context, options.contextFile)),
        gate: options.gate,
        json: options.json === true,
        raw: options.raw === true,
        fields: judgeFields(command),
      },
      tableArguments(command, 'judge'),
      context.output,
    );
    context.finish(code);
  });
}

function gateValue(text: string): number {
  const value = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('It must be a number from 0 to 1.');
}
