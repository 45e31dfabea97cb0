import {
  AgentEvalError,
  type CheckAnswer,
  type PanelMember,
  type PoolMode,
  type Rubric,
} from '@tangle-network/agent-eval-contract';
import type { Judgement } from '../judge.js';
import { composite } from '../score.js';
import { type Spent, spent, spentUntil } from '../spent.js';
import type { Failed, Member, Scored } from './member.js';
import { agreement, deviation, mean, median } from './statistics.js';

export interface PoolOptions {
  pool: PoolMode;
  /** Fewest verdicts that make a pooled one. */
  quorum: number;
  judgeVersion: string;
}

/** The quorum of a panel that names none. */
export function majorityOf(members: number): number {
  return Math.floor(members / 2) + 1;
}

/** Makes one judgement of those of a panel. Throws `judge_no_quorum` where too few gave one. */
export function pooled(
  rubric: Rubric,
  members: readonly Member[],
  { pool, quorum, judgeVersion }: PoolOptions,
): Judgement {
  const scored = members.filter((member) => 'judgement' in member);
  const failed = members.filter((member) => 'error' in member);
  const [first] = scored;
  if (first === undefined || scored.length < quorum) throw noQuorum(members, failed, quorum);
  const middle = pool === 'median' ? median : mean;
  const judgements = scored.map(({ judgement }) => judgement);
  const dimensions = Object.fromEntries(
    rubric.dimensions.map(({ id }) => [
      id,
      middle(judgements.map((judgement) => judgement.dimensions[id] ?? Number.NaN)),
    ]),
  );
  const value = composite(rubric, dimensions);
  const composites = judgements.map((judgement) => judgement.composite);
  const nearest = nearestTo(value, judgements) ?? first.judgement;
  const all = <T>(of: (judgement: Judgement) => readonly T[]): T[] => [
    ...new Set(judgements.flatMap(of)),
  ];
  return {
    ...nearest,
    composite: value,
    dimensions,
    failureModes: byMajority(rubric.failureModes, judgements, 'failureModes'),
    wins: byMajority(rubric.wins, judgements, 'wins'),
    model: all(({ model }) => [model]).join(', '),
    cached: judgements.every(({ cached }) => cached),
    ...spent(members.map(spentBy)),
    judgeVersion,
    // A mean of expected scores and of plain ones is not what was asked for.
    scoreMode:
      judgements.find(({ scoreMode }) => scoreMode === 'text')?.scoreMode ??
      first.judgement.scoreMode,
    droppedParams: all(({ droppedParams }) => droppedParams),
    warnings: [...failureWarnings(members.length, failed), ...warningsOf(scored)],
    notAssessed: all(({ notAssessed }) => notAssessed),
    ...pooledChecks(judgements, middle),
    samples: members.map(asSample),
    stdev: deviation(composites),
    agreement: agreement(composites),
  };
}

function nearestTo(value: number, judgements: readonly Judgement[]): Judgement | undefined {
  const distance = (judgement: Judgement): number => Math.abs(judgement.composite - value);
  return judgements.reduce<Judgement | undefined>(
    (best, next) => (best !== undefined && distance(best) <= distance(next) ? best : next),
    undefined,
  );
}

/** Ids that more than half of the verdicts have, in the order of the rubric. */
function byMajority(
  declared: readonly { id: string }[],
  judgements: readonly Judgement[],
  list: 'failureModes' | 'wins',
): string[] {
  const found = judgements.map((judgement) => new Set(judgement[list]));
  return declared
    .map(({ id }) => id)
    .filter((id) => 2 * found.filter((ids) => ids.has(id)).length > judgements.length);
}

/** Probabilities are pooled like scores; every member was asked the same questions. */
function pooledChecks(
  judgements: readonly Judgement[],
  middle: (values: readonly number[]) => number,
): Pick<Judgement, 'checks'> {
  const every = judgements.map(({ checks }) => checks).filter((checks) => checks !== undefined);
  const [first] = every;
  if (first === undefined) return {};
  const pool = (id: string, answers: readonly CheckAnswer[]): CheckAnswer[] =>
    answers.map((answer, i) => ({
      ...answer,
      p: middle(every.map((checks) => checks[id]?.[i]?.p ?? Number.NaN)),
    }));
  const lists = Object.entries(first).map(([id, answers]) => [id, pool(id, answers)] as const);
  return { checks: Object.fromEntries(lists) };
}

function asSample(member: Member): PanelMember {
  if ('error' in member) return { model: member.model, error: member.error.toBody() };
  const { model, composite: value, dimensions, failureModes, wins } = member.judgement;
  const { rationale, usage, cached } = member.judgement;
  return {
    model,
    composite: value,
    dimensions,
    failureModes,
    wins,
    rationale,
    usage,
    cached,
  };
}

/** Each warning once; in a panel of several models with the model that it is about. */
function warningsOf(scored: readonly Scored[]): string[] {
  const several = new Set(scored.map(({ model }) => model)).size > 1;
  const all = scored.flatMap(({ model, judgement }) =>
    judgement.warnings.map((warning) => (several ? `${model}: ${warning}` : warning)),
  );
  return [...new Set(all)];
}

function failureWarnings(asked: number, failed: readonly Failed[]): string[] {
  return failed.length === 0
    ? []
    : [`${failed.length} of ${asked} verdicts are missing: ${reasons(failed)}`];
}

/** Says who failed and why, each pair once with its number. */
function reasons(failed: readonly Failed[]): string {
  const counts = new Map<string, number>();
  for (const { model, error } of failed) {
    const what = `${model} ${error.code}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return [...counts].map(([what, n]) => (n === 1 ? what : `${n} × ${what}`)).join(', ');
}

function noQuorum(
  members: readonly Member[],
  failed: readonly Failed[],
  quorum: number,
): AgentEvalError {
  const given = members.length - failed.length;
  return new AgentEvalError(
    'judge_no_quorum',
    `${given} of ${members.length} verdicts were given, and ${quorum} are needed: ${reasons(failed)}. Mend what failed, or ask with a lower quorum.`,
    {
      asked: members.length,
      given,
      quorum,
      samples: members.map(asSample),
      ...spent(members.map(spentBy)),
    },
  );
}

function spentBy(member: Member): Spent {
  return 'error' in member ? spentUntil(member.error) : member.judgement;
}
