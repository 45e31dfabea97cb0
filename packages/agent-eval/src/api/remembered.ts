import type { JudgeRequest, Rubric } from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../core/deadline.js';
import { type ChecksSettings, judgeByChecks } from '../judge/checks/judge-locally.js';
import type { HostedMode } from '../judge/hosted.js';
import type { Judgement, JudgeOptions } from '../judge/judge.js';
import { asRemembered } from '../judge/memory.js';
import { checksKey, hostedKey } from '../judge/memory-keys.js';
import type { YesNoModel } from '../providers/local/types.js';
import type { ApiDeps, TextModel } from './deps.js';

type Options = JudgeOptions & Pick<JudgeRequest, 'cache'>;

/**
 * One judgement by a hosted model, or what the cache remembers of it. `sample` tells apart the judgements of
 * a request that asks the same model several times.
 */
export function hostedJudgement(
  { memory }: ApiDeps,
  { rubric, mode }: { rubric: Rubric; mode: HostedMode },
  options: Options,
  { client, model, address }: TextModel,
  deadline: Deadline,
  sample = 0,
): Promise<Judgement> {
  return remembered(
    memory,
    options,
    async () => hostedKey(rubric, options, mode, { address, model, sample }),
    (asked, limit) => mode.judge(rubric, asked, { client, model }, limit),
    deadline,
  );
}

/** One judgement by the answers of a local model, or what the cache remembers of it. */
export function checksJudgement(
  { memory }: ApiDeps,
  { rubric, settings }: { rubric: Rubric; settings: ChecksSettings },
  options: Options,
  model: YesNoModel,
  deadline: Deadline,
): Promise<Judgement> {
  return remembered(
    memory,
    options,
    async () => checksKey(rubric, options, settings, (await model.describe()).fileSha256),
    (asked, limit) => judgeByChecks(rubric, asked, model, settings, limit),
    deadline,
  );
}

async function remembered(
  memory: ApiDeps['memory'],
  options: Options,
  key: () => Promise<string>,
  judge: (options: Options, deadline: Deadline) => Promise<Judgement>,
  deadline: Deadline,
): Promise<Judgement> {
  const { cache = 'use' } = options;
  if (memory === null || cache === 'bypass') return judge(options, deadline);
  // Remembered with the reply, so that it also serves those who ask for that.
  const whole = { ...options, includeRaw: true };
  const { value, fresh } = await memory.through(await key(), cache, deadline, (limit) =>
    judge(whole, limit),
  );
  const judgement = fresh ? value : asRemembered(value);
  if (options.includeRaw === true) return judgement;
  const { raw: _, ...rest } = judgement;
  return rest;
}
