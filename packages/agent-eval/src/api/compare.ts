import {
  AgentEvalError,
  type CompareRequest,
  type CompareResult,
  type JudgeRequest,
  type OrderOutcome,
} from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../core/deadline.js';
import { characters } from '../core/text.js';
import type { Ordered, Side } from '../judge/compare/ask-order.js';
import { byScores } from '../judge/compare/by-scores.js';
import { decide } from '../judge/compare/decide.js';
import { COMPARE_PROMPT_VERSION } from '../judge/compare/prompt.js';
import { compileRubric } from '../judge/compiled-rubric.js';
import { compareVersion, samplingOf } from '../judge/judge-version.js';
import { spent, spentUntil } from '../judge/spent.js';
import type { ApiDeps, Call, TextModel } from './deps.js';
import { answerTo, byRubric } from './judge.js';
import { SAMPLING_TEMPERATURE } from './panel.js';
import { orderAnswer } from './remembered.js';
import { modelFor, type Question } from './respondent.js';
import { ofOneAlone, within } from './within.js';

type Comparison = Omit<CompareResult, 'durationMs' | 'lengths'>;
type ByRubric = Pick<Question, 'rubric' | 'checks'>;
type Answer = Ordered | { first: Side; error: AgentEvalError };

/** Tells which of two texts is better by a rubric. */
export function compare(
  deps: ApiDeps,
  request: CompareRequest,
  call: Call,
): Promise<CompareResult> {
  return within(deps, request, call, async (deadline) => {
    const rubric = await byRubric(deps, request);
    const model = await modelFor(deps, request, request.model);
    const comparison =
      model.kind === 'text' && request.scoreMode !== 'checks'
        ? await askedInOrders(deps, rubric, request, model, deadline)
        : await judgedAlone(deps, rubric, request, deadline);
    return { ...comparison, lengths: { a: characters(request.a), b: characters(request.b) } };
  });
}

/** Asks which text is better: every sample in both orders, all at once. */
async function askedInOrders(
  deps: ApiDeps,
  { rubric }: ByRubric,
  request: CompareRequest,
  model: TextModel,
  deadline: Deadline,
): Promise<Comparison> {
  const { samples = 1, swap = true, temperature } = request;
  const asked = samples > 1 && temperature === undefined ? SAMPLING_TEMPERATURE : temperature;
  const orders: Side[] = swap ? ['a', 'b'] : ['a'];
  const ask = async (sample: number, first: Side): Promise<Answer> => {
    const seed = request.seed === undefined ? undefined : request.seed + sample;
    const options = { ...request, temperature: asked, seed };
    try {
      return await orderAnswer(deps, { rubric, options, first }, model, deadline, sample);
    } catch (thrown) {
      return { first, error: ofOneAlone(thrown, deadline) };
    }
  };
  const comparisons = await Promise.all(
    Array.from({ length: samples }, (_, i) => Promise.all(orders.map((first) => ask(i, first)))),
  );
  const answers = comparisons.flat();
  const known = answers.find((answer) => 'winner' in answer);
  if (known === undefined) throw firstError(answers);
  const { winner, flipped, consistency, n, rationale, warnings } = decide(
    comparisons.map((said) => said.map((answer) => ('error' in answer ? null : answer))),
  );
  return {
    winner,
    scores: null,
    flipped,
    consistency,
    order: answers.map(asOutcome),
    n,
    rationale,
    rubricVersion: compileRubric(rubric).version,
    judgeVersion: compareVersion({
      promptVersion: COMPARE_PROMPT_VERSION,
      sampling: samplingOf({ ...request, temperature: asked }),
      swap,
      samples,
    }),
    model: known.model,
    usage: spent(answers.map((one) => ('error' in one ? spentUntil(one.error) : one))).usage,
    warnings: [
      ...new Set([...warnings, ...answers.flatMap((one) => ('error' in one ? [] : one.warnings))]),
    ],
  };
}

function firstError(answers: readonly Answer[]): AgentEvalError {
  const failed = answers.find((answer) => 'error' in answer);
  return failed?.error ?? new AgentEvalError('internal_error', 'A comparison asked nothing.');
}

function asOutcome(answer: Answer): OrderOutcome {
  const { first } = answer;
  if ('error' in answer) return { first, error: answer.error.toBody() };
  const { winner, rationale, usage, cached } = answer;
  return { first, winner, rationale, usage, cached };
}

/** Judges each text by itself, by the checks of the rubric. */
async function judgedAlone(
  deps: ApiDeps,
  rubric: ByRubric,
  request: CompareRequest,
  deadline: Deadline,
): Promise<Comparison> {
  const { a, b, swap: _, ...options } = request;
  const judged = (content: string) => {
    const alone: JudgeRequest = { ...options, content, scoreMode: 'checks' };
    return answerTo(deps, { request: alone, ...rubric }, deadline);
  };
  const [first, second] = await Promise.all([judged(a), judged(b)]);
  return byScores(first, second, request.samples ?? 1);
}
