import type { JudgeRequest, Preference, Rubric, Usage } from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../../core/deadline.js';
import type { ModelClient, ModelReply } from '../../providers/types.js';
import { askFor, usageOf } from '../ask.js';
import { samplingOf } from '../judge-version.js';
import { compareMessage, comparePrompt } from './prompt.js';
import { type Place, readWinner, WINNER_AGAIN } from './read-winner.js';

export type Side = 'a' | 'b';

/** The part of a request that one comparison looks at. */
export type CompareOptions = { a: string; b: string } & Pick<
  JudgeRequest,
  'context' | 'temperature' | 'seed' | 'maxTokens'
>;

/** What a model preferred in one order of the texts. */
export interface Ordered {
  first: Side;
  winner: Preference;
  rationale: string;
  model: string;
  usage: Usage | null;
  cached: boolean;
  attempts: number;
  warnings: string[];
}

/** Asks which text is better, shown in one order. Throws a `judge_*` error when the model does not say. */
export async function askInOrder(
  rubric: Rubric,
  options: CompareOptions,
  first: Side,
  { client, model }: { client: ModelClient; model: string },
  deadline: Deadline,
): Promise<Ordered> {
  const { system, schema } = comparePrompt(rubric);
  const { verdict, reply } = await askFor(
    { read: (given: ModelReply) => readWinner(given), again: WINNER_AGAIN },
    {
      model,
      system,
      schema,
      user: messageInOrder(options, first),
      temperature: samplingOf(options).temperature,
      seed: options.seed,
      maxTokens: options.maxTokens,
    },
    client,
    deadline,
  );
  return {
    first,
    winner: sideOf(verdict.winner, first),
    rationale: verdict.rationale,
    model: reply.model,
    usage: usageOf(reply),
    cached: false,
    attempts: reply.attempts,
    warnings: [...reply.warnings, ...verdict.warnings],
  };
}

export function messageInOrder({ a, b, context }: CompareOptions, first: Side): string {
  return first === 'a' ? compareMessage(a, b, context) : compareMessage(b, a, context);
}

function sideOf(place: Place | 'tie', first: Side): Preference {
  if (place === 'tie') return 'tie';
  return (place === 'first') === (first === 'a') ? 'a' : 'b';
}
