import { Command, CommanderError } from 'commander';
import { asAgentEvalError } from '../api/dispatch.js';
import { processEnvironment, variable } from '../config/env.js';
import { resolveSettings } from '../config/resolve.js';
import { catchTheRest, exitCode, tolerateClosedPipe, USAGE_EXIT_CODE } from '../entries/process.js';
import { VERSION_INFO } from '../entries/version-info.js';
import { addCacheCommand } from './commands/cache.js';
import { addCompareCommand } from './commands/compare.js';
import { addConfigCommand } from './commands/config.js';
import { addDoctorCommand } from './commands/doctor.js';
import { addJudgeCommand } from './commands/judge.js';
import { addModelCommand } from './commands/model.js';
import { addOpenApiCommand } from './commands/openapi.js';
import { addRpcCommands } from './commands/rpc.js';
import { addRubricsCommand } from './commands/rubrics.js';
import { addServeCommand } from './commands/serve.js';
import type { CommandContext } from './context.js';
import { type Output, processOutput, tellError } from './output.js';

/** Reads the command line, runs the command, ends the process with its exit code. */
export async function runCli(args: readonly string[]): Promise<void> {
  const output = processOutput();
  const debug = args.includes('--debug') || debugVariable();
  tolerateClosedPipe();
  catchTheRest(debug);
  let code = 0;
  const program = createProgram({ output, finish: (value) => (code = value) });
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    code = failureCode(error, output, debug);
  }
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  process.exit(code);
}

/** The variable is looked at before any other setting, which may be what is wrong. */
function debugVariable(): boolean {
  const value = variable(processEnvironment(), 'AGENT_EVAL_DEBUG');
  try {
    return resolveSettings(value === undefined ? {} : { AGENT_EVAL_DEBUG: value }).settings.debug;
  } catch {
    // The command itself reads its settings again, and says what is wrong with this one.
    return false;
  }
}

export function createProgram(context: CommandContext): Command {
  const program = new Command('agent-eval')
    .description('A rubric goes in, a trustworthy verdict comes out.')
    .version(VERSION_INFO.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .showHelpAfterError('Try agent-eval --help.')
    .exitOverride()
    .addHelpText('after', `\nExit codes: ${EXIT_CODES}`);
  for (const add of [
    addJudgeCommand,
    addCompareCommand,
    addRubricsCommand,
    addModelCommand,
    addServeCommand,
    addRpcCommands,
    addCacheCommand,
    addConfigCommand,
    addDoctorCommand,
    addOpenApiCommand,
  ]) {
    add(program, context);
  }
  return program;
}

const EXIT_CODES =
  '0 ok, 1 the request failed, 2 usage, 3 internal, 4 score below the gate, 5 no verdict to hold against the gate, 130/143 ended by a signal.';

function failureCode(error: unknown, output: Output, debug: boolean): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_EXIT_CODE;
  const known = asAgentEvalError(error);
  tellError(output, known, debug);
  return exitCode(known);
}
