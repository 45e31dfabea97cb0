import type { JudgeRequest, PoolMode } from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../core/deadline.js';
import type { Judgement } from '../judge/judge.js';
import { panelVersion } from '../judge/judge-version.js';
import { asRemembered } from '../judge/memory.js';
import type { Failed, Member } from '../judge/panel/member.js';
import { majorityOf, pooled } from '../judge/panel/pool.js';
import type { ApiDeps } from './deps.js';
import { modelFor, type Question, type Respondent, refused, respondent } from './respondent.js';
import { calledOff, type Round, startRound } from './round.js';
import { isStop, ofOneAlone } from './within.js';

/** With several samples a model must be free to answer otherwise. */
export const SAMPLING_TEMPERATURE = 0.7;

/** Whether a request asks for several verdicts, or for one in the form of several. */
export function isPanel({ samples, models }: JudgeRequest): boolean {
  return samples !== undefined || models !== undefined;
}

/** Asks each model of the request as often as it says, all at once, and pools what they say. */
export async function panelJudgement(
  deps: ApiDeps,
  question: Question,
  deadline: Deadline,
): Promise<Judgement> {
  const { samples = 1, pool = 'mean', quorum } = question.request;
  const panel = await panelOf(deps, samples > 1 ? withSampling(question) : question, deadline);
  const needed = quorum ?? majorityOf(panel.length * samples);
  const members = await askAll(panel, samples, needed, deadline);
  const judgeVersion = await versionOf(panel, { samples, pool });
  return pooled(question.rubric, members, { pool, quorum: needed, judgeVersion });
}

/** Asks everyone, as long as `needed` verdicts can still be had. */
async function askAll(
  panel: readonly (Respondent | Failed)[],
  samples: number,
  needed: number,
  deadline: Deadline,
): Promise<Member[]> {
  const round = startRound(deadline, panel.length * samples - needed);
  try {
    round.fail(samples * panel.filter((one) => 'error' in one).length);
    const members = panel.map((one) =>
      'error' in one ? copies(one, samples) : answers(one, samples, round, deadline),
    );
    return (await Promise.all(members)).flat();
  } finally {
    round.release();
  }
}

function withSampling(question: Question): Question {
  const { temperature = SAMPLING_TEMPERATURE } = question.request;
  return { ...question, request: { ...question.request, temperature } };
}

/** A single verdict compares with those that were not asked for as a panel. */
async function versionOf(
  panel: readonly (Respondent | Failed)[],
  { samples, pool }: { samples: number; pool: PoolMode },
): Promise<string> {
  const versions = await Promise.all(
    panel.map((one) => ('error' in one ? null : one.version().catch(() => null))),
  );
  const [only] = versions;
  const single = samples === 1 && versions.length === 1;
  return single && only != null ? only : panelVersion({ versions, samples, pool });
}

/** The models of a panel, ready to be asked. One that can't be is a member that failed; without any, its error is thrown. */
async function panelOf(
  deps: ApiDeps,
  question: Question,
  deadline: Deadline,
): Promise<(Respondent | Failed)[]> {
  const { model, models = [model] } = question.request;
  const panel = await Promise.all(
    models.map(async (name): Promise<Respondent | Failed> => {
      try {
        return respondent(deps, question, await modelFor(deps, question.request, name));
      } catch (error) {
        if (name === undefined) throw error;
        return { model: name, error: ofOneAlone(error, deadline) };
      }
    }),
  );
  const failed = panel.filter((one) => 'error' in one);
  if (failed.length === panel.length && failed[0] !== undefined) throw failed[0].error;
  const modes = new Set(panel.flatMap((one) => ('error' in one ? [] : [one.mode])));
  if (modes.size > 1) throw refused('models', MIXED);
  return panel;
}

const MIXED =
  'local models judge by checks only: give scoreMode "checks", so that all of them do the same';

function copies<T>(one: T, times: number): T[] {
  return Array.from({ length: times }, () => one);
}

/** One model's answers, one for each sample. */
async function answers(
  one: Respondent,
  samples: number,
  round: Round,
  call: Deadline,
): Promise<Member[]> {
  if (one.varies) {
    return Promise.all(Array.from({ length: samples }, (_, i) => answer(one, i, round, call)));
  }
  const first = await answer(one, 0, round, call);
  if (samples === 1) return [first];
  if ('error' in first) {
    round.fail(samples - 1);
    return copies(first, samples);
  }
  const told = `${one.model} answers the same each time, so it was asked once for ${samples} samples`;
  const warned = { ...first.judgement, warnings: [...first.judgement.warnings, told] };
  const again: Member = { model: one.model, judgement: asRemembered(warned) };
  return [{ model: one.model, judgement: warned }, ...copies(again, samples - 1)];
}

async function answer(
  one: Respondent,
  sample: number,
  round: Round,
  call: Deadline,
): Promise<Member> {
  const { model } = one;
  if (round.over) return { model, error: calledOff(false) };
  try {
    return { model, judgement: await one.judge(sample, round.deadline) };
  } catch (thrown) {
    if (round.over && isStop(thrown)) return { model, error: calledOff(true) };
    const error = ofOneAlone(thrown, call);
    round.fail(1);
    return { model, error };
  }
}
