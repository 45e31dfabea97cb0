import type { Rubric } from '@tangle-network/agent-eval-contract';
import { type EncodedText, encodeText } from '../../core/encoded-text.js';
import { DATA_RULE } from '../prompt.js';
import { questionsOf } from './scoring.js';

/** Part of every judgeVersion of checks that a hosted model answers. */
export const ANSWERS_PROMPT_VERSION = 'answers-1';

/** What a hosted model is told and must reply for the checks of a rubric; the questions have ids q1, q2, …. */
export interface AnswersPrompt {
  questions: { id: string; question: string }[];
  system: EncodedText;
  schema: { name: string; json: string };
}

const made = new WeakMap<Rubric, AnswersPrompt>();

/** Made once for each rubric object. */
export function answersPrompt(rubric: Rubric): AnswersPrompt {
  const known = made.get(rubric);
  if (known !== undefined) return known;
  const questions = questionsOf(rubric).map((question, i) => ({ id: `q${i + 1}`, question }));
  const prompt = {
    questions,
    system: encodeText(systemMessage(rubric, questions)),
    schema: { name: 'answers', json: answersSchema(questions.map(({ id }) => id)) },
  };
  made.set(rubric, prompt);
  return prompt;
}

function systemMessage(rubric: Rubric, questions: AnswersPrompt['questions']): string {
  const list = questions.map(({ id, question }) => `- ${JSON.stringify(id)}: ${question}`);
  return [
    rubric.systemPrompt,
    'Now you give no scores. You answer yes/no questions about the text between the CONTENT boundary lines of the next message. Each question stands alone: answer what it asks, whatever you think of the text as a whole.',
    `Questions:\n${list.join('\n')}`,
    [
      'Answer with one JSON object and nothing else, its fields in this order:',
      '- "rationale": a few sentences on what decides the answers, written before you answer;',
      '- "answers": an object with "yes" or "no" for each question id above.',
    ].join('\n'),
    DATA_RULE,
  ].join('\n\n');
}

function answersSchema(ids: readonly string[]): string {
  return JSON.stringify({
    type: 'object',
    properties: {
      rationale: { type: 'string' },
      answers: {
        type: 'object',
        properties: Object.fromEntries(
          ids.map((id) => [id, { type: 'string', enum: ['yes', 'no'] }]),
        ),
        required: ids,
        additionalProperties: false,
      },
    },
    required: ['rationale', 'answers'],
    additionalProperties: false,
  });
}
