import type { JudgeRequest } from '@tangle-network/agent-eval-contract';
import { type Command, InvalidArgumentError, Option } from 'commander';

/** Fields of a request that have a flag of their own. */
export type JudgeFields = Pick<
  JudgeRequest,
  'models' | 'samples' | 'pool' | 'quorum' | 'scoreMode'
>;

/** Adds the flags of a single judgement that are no settings of the engine. */
export function addJudgeFlags(command: Command): Command {
  return command
    .option('--samples <n>', 'ask each model so often, 1 to 64, and pool the scores', count)
    .option('--models <names>', 'a panel: models to ask, with commas between them', names)
    .addOption(
      new Option('--pool <how>', 'how scores are pooled; default mean').choices(['mean', 'median']),
    )
    .option('--quorum <n>', 'fewest verdicts that count; default more than half', count)
    .addOption(
      new Option(
        '--score-mode <mode>',
        'text: the model gives scores; logprobs: the mean of the likely ones; checks: yes/no questions',
      ).choices(['text', 'logprobs', 'checks']),
    );
}

/** The values of those flags. */
export function judgeFields(command: Command): JudgeFields {
  const { models, samples, pool, quorum, scoreMode } = command.opts<JudgeFields>();
  return { models, samples, pool, quorum, scoreMode };
}

/** A whole number from 1. */
export function count(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1.');
}

function names(text: string): string[] {
  const list = text.split(',').map((name) => name.trim());
  if (list.every((name) => name !== '')) return list;
  throw new InvalidArgumentError('It must be names with commas between them.');
}
