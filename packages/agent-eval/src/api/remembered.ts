import type { JudgeRequest, Rubric } from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../core/deadline.js';
import { type ChecksSettings, judgeByChecks } from '../judge/checks/judge-locally.js';
import {
  askInOrder,
  type CompareOptions,
  type Ordered,
  type Side,
} from '../judge/compare/ask-order.js';
import type { HostedMode } from '../judge/hosted.js';
import type { Judgement, JudgeOptions } from '../judge/judge.js';
import { asRemembered } from '../judge/memory.js';
import { checksKey, compareKey, hostedKey } from '../judge/memory-keys.js';
import type { YesNoModel } from '../providers/local/types.js';
import type { ApiDeps, TextModel } from './deps.js';

type CacheOption = Pick<JudgeRequest, 'cache'>;
type Options = JudgeOptions & CacheOption;

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

/** One order of a comparison, or what the cache remembers of it. */
export function orderAnswer(
  { memory }: ApiDeps,
  {
    rubric,
    options,
    first,
  }: { rubric: Rubric; options: CompareOptions & CacheOption; first: Side },
  { client, model, address }: TextModel,
  deadline: Deadline,
  sample: number,
): Promise<Ordered> {
  return throughMemory(
    memory,
    options.cache,
    async () => compareKey(rubric, options, first, { address, model, sample }),
    (limit) => askInOrder(rubric, options, first, { client, model }, limit),
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
  const kept = memory !== null && options.cache !== 'bypass';
  // Remembered with the reply, so that it also serves those who ask for that.
  const asked = kept ? { ...options, includeRaw: true } : options;
  const judgement = await throughMemory(
    memory,
    options.cache,
    key,
    (limit) => judge(asked, limit),
    deadline,
  );
  if (!kept || options.includeRaw === true) return judgement;
  const { raw: _, ...rest } = judgement;
  return rest;
}

async function throughMemory<T extends Pick<Judgement, 'usage' | 'cached' | 'attempts'>>(
  memory: ApiDeps['memory'],
  mode: JudgeRequest['cache'] = 'use',
  key: () => Promise<string>,
  make: (deadline: Deadline) => Promise<T>,
  deadline: Deadline,
): Promise<T> {
  if (memory === null || mode === 'bypass') return make(deadline);
  const { value, fresh } = await memory.through(await key(), mode, deadline, make);
  return fresh ? value : asRemembered(value);
}
