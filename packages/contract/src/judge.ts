import * as z from 'zod';
import { rubric } from './rubric.js';
import { wireType } from './wire-types.js';

export const MAX_TIMEOUT_MS = 24 * 60 * 60 * 1000;

export const providerChoice = wireType(
  'ProviderChoice',
  'The model endpoint for this request alone; taken on stdio, over HTTP only where the server allows it.',
  z.strictObject({
    name: z
      .string()
      .min(1)
      .optional()
      .describe('Provider name, such as "openai"; default: an OpenAI-compatible endpoint.'),
    baseUrl: z.string().min(1).optional().describe('Base URL of the endpoint.'),
    apiKey: z.string().min(1).optional().describe('Key for that base URL.'),
  }),
);

export const scoreMode = z.enum(['text', 'checks']);

const common = {
  content: z.string().min(1).describe('The text to judge.'),
  context: z
    .record(z.string(), z.unknown())
    .optional()
    .describe(
      'Shown to the judge beside the content; customary keys: question, source, reference, metadata.',
    ),
  model: z.string().min(1).optional().describe('Model to ask instead of the configured one.'),
  scoreMode: scoreMode
    .optional()
    .describe(
      '"text": the model gives scores; "checks": it answers the yes/no questions of the rubric.',
    ),
  temperature: z.number().min(0).max(2).optional().describe('Sampling temperature; default 0.'),
  seed: z.int().optional().describe('Sampling seed, for endpoints that take one.'),
  maxTokens: z.int().min(1).max(1_000_000).optional().describe('Limit on the tokens of the reply.'),
  timeoutMs: z
    .int()
    .min(1)
    .max(MAX_TIMEOUT_MS)
    .optional()
    .describe('Deadline of the whole judgement in milliseconds; default 180000.'),
  includeRaw: z.boolean().optional().describe('Return the text of the model reply as `raw`.'),
  provider: providerChoice.optional(),
};

export const judgeByName = wireType(
  'JudgeByName',
  'Judge with a rubric that the engine knows by name.',
  z.strictObject({
    rubricName: z.string().min(1).describe('Name of a rubric of the engine.'),
    ...common,
  }),
);

export const judgeByRubric = wireType(
  'JudgeByRubric',
  'Judge with the rubric that the request carries.',
  z.strictObject({ rubric: rubric.describe('The rubric itself.'), ...common }),
);

export const judgeRequest = wireType(
  'JudgeRequest',
  'A judgement to make: exactly one of `rubricName` and `rubric`.',
  z.union([judgeByName, judgeByRubric]),
);

export const usage = wireType(
  'Usage',
  'Tokens and money of the model calls behind an answer.',
  z.object({
    inputTokens: z.int().min(0).describe('Tokens sent.'),
    outputTokens: z.int().min(0).describe('Tokens received.'),
    cachedInputTokens: z.int().min(0).optional().describe('Sent tokens the provider had cached.'),
    costUsd: z
      .number()
      .min(0)
      .nullable()
      .describe('Cost in US dollars; null when the price is unknown.'),
  }),
);

export const checkAnswer = wireType(
  'CheckAnswer',
  'How one yes/no question was answered.',
  z.object({
    question: z.string().describe('The question.'),
    expect: z.enum(['yes', 'no']).describe('The answer that speaks for the dimension.'),
    p: z.number().min(0).max(1).describe('Probability of the expected answer, 0 to 1.'),
  }),
);

export const notAssessed = z.enum(['failureModes', 'wins']);

export const judgeResult = wireType(
  'JudgeResult',
  'A verdict.',
  z.object({
    composite: z.number().min(0).max(1).describe('Weighted score from 0 to 1.'),
    dimensions: z
      .record(z.string(), z.number())
      .describe('Score of each rubric dimension, on the scale of that dimension.'),
    failureModes: z.array(z.string()).describe('Ids of the negative patterns found.'),
    wins: z.array(z.string()).describe('Ids of the positive patterns found.'),
    rationale: z.string().describe('Why, in the words of the model.'),
    rubricVersion: z.string().describe('Name and hash of the rubric; equal means comparable.'),
    model: z.string().describe('Model as reported by the provider.'),
    durationMs: z.int().min(0).describe('Duration of this call in milliseconds.'),
    usage: usage
      .nullable()
      .describe('Tokens and cost; null when the provider did not report them.'),
    cached: z.boolean().describe('True when no model was asked.'),
    attempts: z.int().min(0).describe('Requests sent to the provider.'),
    judgeVersion: z
      .string()
      .describe('Hash of the prompt version, score mode and sampling; equal means comparable.'),
    scoreMode: scoreMode.describe('How the scores were made.'),
    replyMode: z
      .string()
      .describe('How the reply was asked for: "json_schema" or "token_probabilities".'),
    droppedParams: z.array(z.string()).describe('Parameters the endpoint refused.'),
    warnings: z.array(z.string()).describe('What to know before trusting the score.'),
    notAssessed: z.array(notAssessed).describe('Lists that this mode could not fill.'),
    checks: z
      .record(z.string(), z.array(checkAnswer))
      .optional()
      .describe('Answers behind each dimension, when scored by checks.'),
    raw: z.string().optional().describe('Text of the model reply, when asked for.'),
  }),
);

export type ProviderChoice = z.output<typeof providerChoice>;
export type JudgeRequest = z.output<typeof judgeByName> | z.output<typeof judgeByRubric>;
export type ScoreMode = z.output<typeof scoreMode>;
export type Usage = z.output<typeof usage>;
export type CheckAnswer = z.output<typeof checkAnswer>;
export type JudgeResult = z.output<typeof judgeResult>;
