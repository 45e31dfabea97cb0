import { AgentEvalError, type JudgeResult } from '@tangle-network/agent-eval-contract';
import { type Command, InvalidArgumentError } from 'commander';
import { dispatch } from '../../api/dispatch.js';
import { processEnvironment } from '../../config/env.js';
import { resolveSettings } from '../../config/resolve.js';
import { composeEngine } from '../../entries/compose.js';
import { stopSignal } from '../../entries/process.js';
import { passesGate } from '../../judge/score.js';
import { readContent, readContext, rubricName } from '../judge-input.js';
import { verdictLines } from '../judge-output.js';
import { type CommandContext, exitCode } from '../main.js';
import { addTableOptions, tableArguments } from '../options.js';
import { tellError } from '../output.js';

const BELOW_GATE = 4;
const NO_VERDICT = 5;

export function addJudgeCommand(program: Command, { output, finish }: CommandContext): void {
  const command = program
    .command('judge')
    .description('judge a text by a rubric')
    .argument('[file]', 'file with the text; - or nothing reads stdin')
    .requiredOption('--rubric <name|file>', 'name of a rubric, or a JSON or YAML file')
    .option('--context <key=value...>', 'shown to the judge beside the text, such as question=…')
    .option('--context-file <file>', 'JSON file with the context')
    .option('--gate <score>', 'exit with 4 when the composite is lower', gateValue)
    .option('--json', 'print the verdict as JSON')
    .option('--raw', 'include the reply of the model in the JSON');
  addTableOptions(command, 'judge').action(async (file: string | undefined) => {
    const options = command.opts();
    const env = processEnvironment();
    const resolved = resolveSettings(env, tableArguments(command, 'judge'));
    const content = await readContent(file);
    const context = await readContext(options.context, options.contextFile);
    const engine = await composeEngine({ env, resolved, oneShot: true });
    const stop = stopSignal();
    const gate: number | undefined = options.gate;
    try {
      const params = {
        content,
        rubricName: await rubricName(String(options.rubric), engine.deps.rubrics),
        ...context,
        ...(options.raw === true && { includeRaw: true }),
      };
      const call = { signal: stop.signal, allowProvider: true };
      const result = (await dispatch(engine.deps, 'judge', params, call)) as JudgeResult;
      if (options.json === true) output.json(result);
      else for (const line of verdictLines(result, output)) output.data(line);
      finish(gate === undefined || passesGate(result.composite, gate) ? 0 : BELOW_GATE);
    } catch (error) {
      if (!(error instanceof AgentEvalError)) throw error;
      if (options.json === true) output.json({ error: error.toBody() });
      tellError(output, error, resolved.settings.debug);
      const unscored = gate !== undefined && error.code.startsWith('judge_');
      finish(stop.exitCode() ?? (unscored ? NO_VERDICT : exitCode(error)));
    } finally {
      await engine.close();
    }
  });
}

function gateValue(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('It must be a number from 0 to 1.');
}
