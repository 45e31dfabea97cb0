import type { Rubric } from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../../core/deadline.js';
import type { ModelClient, ModelReply } from '../../providers/types.js';
import { askFor, usageOf } from '../ask.js';
import { compileRubric } from '../compiled-rubric.js';
import { type Judgement, type JudgeOptions, modelRequest } from '../judge.js';
import { judgeVersion, samplingOf } from '../judge-version.js';
import { likelyAnswers } from '../logprobs/likely-answers.js';
import { composite } from '../score.js';
import { answersListed, BROAD_QUESTIONS, checksOf, withChecks } from './asked.js';
import { ANSWERS_PROMPT_VERSION, type AnswersPrompt, answersPrompt } from './hosted-prompt.js';
import { ANSWERS_AGAIN, readAnswers } from './read-answers.js';
import { dimensionsWithoutChecks, scoreChecks } from './scoring.js';

const NEED = { because: 'Checks are to be answered', otherwise: 'judge with scoreMode "text"' };

/** Likeliest tokens to ask for: yes and no in a few spellings. */
const TOP_TOKENS = 5;

/** The rubric as a hosted model is asked about it. */
function askedOf(rubric: Rubric, allowUncalibrated: boolean): Rubric {
  return withChecks(rubric, allowUncalibrated, NEED);
}

/** What a hosted model is told for the checks of a rubric. */
export function hostedChecksPrompt(rubric: Rubric, allowUncalibrated: boolean): AnswersPrompt {
  return answersPrompt(askedOf(rubric, allowUncalibrated));
}

/** The judgeVersion of checks that a hosted model answers. */
export function hostedChecksVersion(
  rubric: Rubric,
  allowUncalibrated: boolean,
  options: JudgeOptions,
): string {
  return judgeVersion({
    scoreMode: 'checks',
    promptVersion: ANSWERS_PROMPT_VERSION,
    sampling: samplingOf(options),
    checks: { asked: checksOf(askedOf(rubric, allowUncalibrated)), calibration: [] },
  });
}

/** Judges by asking a hosted model all the questions of a rubric at once. */
export async function judgeByAnswers(
  rubric: Rubric,
  options: JudgeOptions,
  { client, model }: { client: ModelClient; model: string },
  allowUncalibrated: boolean,
  deadline: Deadline,
): Promise<Judgement> {
  const asked = askedOf(rubric, allowUncalibrated);
  const prompt = answersPrompt(asked);
  const { questions } = prompt;
  const ids = questions.map(({ id }) => id);
  const { verdict: said, reply } = await askFor(
    { read: (text: ModelReply) => readAnswers(ids, text), again: ANSWERS_AGAIN },
    modelRequest(options, model, prompt, TOP_TOKENS),
    client,
    deadline,
  );
  const likely = likelyAnswers(said.answers, reply.logprobs);
  const byQuestion = new Map(
    questions.map(({ id, question }) => [question, (likely ?? said.answers).get(id) ?? NEITHER]),
  );
  const verdict = scoreChecks(asked, byQuestion, []);
  return {
    composite: composite(asked, verdict.scores),
    dimensions: { ...verdict.scores },
    failureModes: verdict.failureModes,
    wins: verdict.wins,
    rationale: [said.rationale, answersListed(verdict.checks)].filter(Boolean).join('\n\n'),
    rubricVersion: compileRubric(rubric).version,
    model: reply.model,
    usage: usageOf(reply),
    cached: false,
    attempts: reply.attempts,
    judgeVersion: hostedChecksVersion(rubric, allowUncalibrated, options),
    scoreMode: 'checks',
    replyMode: reply.replyMode,
    droppedParams: reply.droppedParams,
    warnings: [
      ...reply.warnings,
      ...said.warnings,
      ...(dimensionsWithoutChecks(rubric).length > 0 ? [BROAD_QUESTIONS] : []),
      ...(likely === null ? [] : [UNCALIBRATED]),
    ],
    notAssessed: verdict.notAssessed,
    checks: verdict.checks,
    ...(options.includeRaw === true && { raw: reply.text }),
  };
}

const NEITHER = { yes: 0, no: 0 };
const UNCALIBRATED = 'uncalibrated: the probabilities of the answers are those of the model';
