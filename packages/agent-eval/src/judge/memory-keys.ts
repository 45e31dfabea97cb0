import type { Rubric } from '@tangle-network/agent-eval-contract';
import type { ChecksSettings } from './checks/judge-locally.js';
import { CHECKS_PROMPT_VERSION } from './checks/local-prompt.js';
import { type CompareOptions, messageInOrder, type Side } from './compare/ask-order.js';
import { COMPARE_PROMPT_VERSION, comparePrompt } from './compare/prompt.js';
import { compileRubric } from './compiled-rubric.js';
import type { HostedMode } from './hosted.js';
import type { JudgeOptions } from './judge.js';
import { samplingOf } from './judge-version.js';
import { memoryKey } from './memory.js';
import { userMessage } from './prompt.js';

/** Key of a judgement by a hosted model: where it goes, the whole prompt, and what was asked of the sampling. */
export function hostedKey(
  rubric: Rubric,
  options: JudgeOptions,
  mode: HostedMode,
  asked: { address: string; model: string; sample: number },
): string {
  const { system, schema } = mode.prompt(rubric);
  return memoryKey([
    asked.address,
    asked.model,
    system.text,
    userMessage(options.content, options.context),
    schema.json,
    compileRubric(rubric).version,
    mode.version(rubric, options),
    asked.sample,
  ]);
}

/** Key of one order of a comparison. */
export function compareKey(
  rubric: Rubric,
  options: CompareOptions,
  first: Side,
  asked: { address: string; model: string; sample: number },
): string {
  const { system, schema } = comparePrompt(rubric);
  return memoryKey([
    asked.address,
    asked.model,
    system.text,
    messageInOrder(options, first),
    schema.json,
    compileRubric(rubric).version,
    COMPARE_PROMPT_VERSION,
    samplingOf(options),
    asked.sample,
  ]);
}

/** Key of a judgement by the answers of a local model; its file stands for address and name. */
export function checksKey(
  rubric: Rubric,
  { content, context }: JudgeOptions,
  settings: ChecksSettings,
  fileSha256: string,
): string {
  const calibration = settings.calibration.filter((row) => row.model === fileSha256);
  return memoryKey([
    'local',
    fileSha256,
    CHECKS_PROMPT_VERSION,
    rubric,
    content,
    context,
    calibration,
    settings.allowUncalibrated,
  ]);
}
