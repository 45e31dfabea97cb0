import { AgentEvalError, type Rubric } from '@tangle-network/agent-eval-contract';
import { signalOf } from '../../core/cancel.js';
import type { Deadline } from '../../core/deadline.js';
import type { YesNoModel } from '../../providers/local/types.js';
import type { Calibration } from '../../rubrics/entry.js';
import { rubricVersion } from '../../rubrics/version.js';
import type { Judgement, JudgeOptions } from '../judge.js';
import { judgeVersion } from '../judge-version.js';
import { composite } from '../score.js';
import { answersListed, BROAD_QUESTIONS, checksOf, withChecks } from './asked.js';
import { CHECKS_PROMPT_VERSION, checksPrompt } from './local-prompt.js';
import {
  type CheckedVerdict,
  dimensionsWithoutChecks,
  questionsOf,
  scoreChecks,
} from './scoring.js';

export interface ChecksSettings {
  /** Calibration that may apply, of any model. */
  calibration: readonly Calibration[];
  /** Ask one broad question where a dimension has no checks. */
  allowUncalibrated: boolean;
}

const NEED = {
  because: "A local model can't be trusted with scores",
  otherwise: 'use a hosted model',
};

/** Yes and no together must carry this much of the probability for an answer to count. */
const MIN_ANSWER_MASS = 0.5;

/** Judges by asking a local model the rubric's yes/no questions and reading token probabilities. */
export async function judgeByChecks(
  rubric: Rubric,
  options: JudgeOptions,
  model: YesNoModel,
  settings: ChecksSettings,
  deadline: Deadline,
): Promise<Judgement> {
  const asked = withChecks(rubric, settings.allowUncalibrated, NEED);
  const { fileSha256 } = await model.describe();
  const calibration = calibrationFor(settings, fileSha256);
  const questions = questionsOf(asked);
  const prompt = checksPrompt(options.content, options.context, questions);
  const { answers, inputTokens, outputTokens } = await model.answer(prompt, {
    signal: signalOf(deadline),
  });
  const byQuestion = new Map(
    questions.map((question, i) => [question, checkedMass(answers[i], question)]),
  );
  const verdict = scoreChecks(asked, byQuestion, calibration);
  return {
    composite: composite(asked, verdict.scores),
    dimensions: { ...verdict.scores },
    failureModes: verdict.failureModes,
    wins: verdict.wins,
    rationale: answersListed(verdict.checks),
    rubricVersion: rubricVersion(rubric),
    model: `local/${model.name}@sha256:${fileSha256}`,
    usage: { inputTokens, outputTokens, costUsd: 0 },
    cached: false,
    attempts: 1,
    judgeVersion: versionOf(asked, calibration),
    scoreMode: 'checks',
    replyMode: 'token_probabilities',
    droppedParams: [],
    warnings: warnings(model.name, rubric, verdict),
    notAssessed: verdict.notAssessed,
    checks: verdict.checks,
  };
}

/** The judgeVersion of a judgement by a local model. */
export function localChecksVersion(
  rubric: Rubric,
  settings: ChecksSettings,
  fileSha256: string,
): string {
  const asked = withChecks(rubric, settings.allowUncalibrated, NEED);
  return versionOf(asked, calibrationFor(settings, fileSha256));
}

function versionOf(asked: Rubric, calibration: readonly Calibration[]): string {
  const questions = new Set(questionsOf(asked));
  return judgeVersion({
    scoreMode: 'checks',
    promptVersion: CHECKS_PROMPT_VERSION,
    sampling: null,
    checks: {
      asked: checksOf(asked),
      calibration: calibration.filter((row) => questions.has(row.question)),
    },
  });
}

function calibrationFor({ calibration }: ChecksSettings, fileSha256: string): Calibration[] {
  return firstForEachQuestion(calibration.filter((row) => row.model === fileSha256));
}

/** Rubrics share questions; of several rows for one question the first counts. */
function firstForEachQuestion(rows: readonly Calibration[]): Calibration[] {
  const seen = new Map<string, Calibration>();
  for (const row of rows) {
    const key = `${row.expect} ${row.question}`;
    if (!seen.has(key)) seen.set(key, row);
  }
  return [...seen.values()];
}

function checkedMass(
  answer: { yes: number; no: number } | undefined,
  question: string,
): { yes: number; no: number } {
  const mass = answer === undefined ? 0 : answer.yes + answer.no;
  if (answer !== undefined && mass >= MIN_ANSWER_MASS) return answer;
  throw new AgentEvalError(
    'judge_malformed',
    `The model does not answer yes or no (together ${mass.toFixed(3)} of the probability): use an instruction-tuned model.`,
    { question, mass },
  );
}

function warnings(name: string, rubric: Rubric, verdict: CheckedVerdict): string[] {
  const list = [`small-model: ${name} is for trying the tool out; do not base decisions on it`];
  if (dimensionsWithoutChecks(rubric).length > 0) {
    list.push(BROAD_QUESTIONS);
  } else if (verdict.uncalibrated.length > 0) {
    list.push(
      `uncalibrated: ${verdict.uncalibrated.length} questions have no calibration for this model`,
    );
  }
  return list;
}
