import * as z from 'zod/mini';
import { panelMember } from './panel.js';
import { rubric } from './rubric.js';
import { usage } from './usage.js';
import { described, wireType } from './wire-types.js';

export { type Usage, usage } from './usage.js';

export const MAX_TIMEOUT_MS = 24 * 60 * 60 * 1000;
export const MAX_SAMPLES = 64;
export const MAX_MODELS = 16;

const filled = () => z.string().check(z.minLength(1, 'must not be empty'));
const optionalText = (description: string) => described(description, z.optional(filled()));
const text = (description: string) => described(description, z.string());
const texts = (description: string) => described(description, z.array(z.string()));
const count = (description: string) => described(description, z.int().check(z.minimum(0)));

export const providerChoice = wireType(
  'ProviderChoice',
  'The model endpoint for this request alone; taken on stdio, over HTTP only where the server allows it.',
  z.strictObject({
    name: optionalText('Provider name, such as "openai"; default: an OpenAI-compatible endpoint.'),
    baseUrl: optionalText('Base URL of the endpoint.'),
    apiKey: optionalText('Key for that base URL.'),
  }),
);

export const scoreMode = z.enum(['text', 'logprobs', 'checks']);

export const poolMode = z.enum(['mean', 'median']);

export const cacheMode = z.enum(['use', 'bypass', 'refresh']);

const common = () => ({
  content: described('The text to judge.', filled()),
  context: described(
    'Shown to the judge beside the content; customary keys: question, source, reference, metadata.',
    z.optional(z.record(z.string(), z.unknown())),
  ),
  model: optionalText('Model to ask instead of the configured one.'),
  models: described(
    'A panel: each of these models is asked, and their scores are pooled. Not together with `model`.',
    z.optional(
      z.array(filled()).check(z.minLength(1, 'must name a model'), z.maxLength(MAX_MODELS)),
    ),
  ),
  samples: described(
    'How often each model is asked; the scores are pooled. Default 1.',
    z.optional(z.int().check(z.minimum(1), z.maximum(MAX_SAMPLES))),
  ),
  pool: described(
    'How scores of several verdicts become one: their "mean" (default) or their "median".',
    z.optional(poolMode),
  ),
  quorum: described(
    'Fewest verdicts that make a pooled one; default: more than half of those asked for.',
    z.optional(z.int().check(z.minimum(1), z.maximum(MAX_SAMPLES * MAX_MODELS))),
  ),
  scoreMode: described(
    '"text": the model gives scores; "logprobs": the expected score over the likeliest score tokens; "checks": the model answers the yes/no questions of the rubric. Default: "checks" for local models, else "text".',
    z.optional(scoreMode),
  ),
  temperature: described(
    'Sampling temperature; default 0, or 0.7 with several samples.',
    z.optional(z.number().check(z.minimum(0), z.maximum(2))),
  ),
  seed: described(
    'Sampling seed, for endpoints that take one; each further sample has the next number.',
    z.optional(z.int()),
  ),
  reasoningEffort: described(
    'How much a model that thinks should think, in the provider\'s own words, such as "low"; left out where the endpoint refuses it.',
    z.optional(z.string().check(z.regex(/^[a-z]{1,20}$/, 'must be a lower-case word'))),
  ),
  maxTokens: described(
    'Limit on the tokens of the reply.',
    z.optional(z.int().check(z.minimum(1), z.maximum(1_000_000))),
  ),
  timeoutMs: described(
    'Deadline of the whole judgement in milliseconds; default 180000.',
    z.optional(z.int().check(z.minimum(1), z.maximum(MAX_TIMEOUT_MS))),
  ),
  cache: described(
    '"use": a remembered verdict will do (default); "bypass": neither read nor remember; "refresh": ask anew and remember. Without a cache it changes nothing.',
    z.optional(cacheMode),
  ),
  includeRaw: described('Return the text of the model reply as `raw`.', z.optional(z.boolean())),
  provider: described('The model endpoint for this request alone.', z.optional(providerChoice)),
});

export const judgeByName = wireType(
  'JudgeByName',
  'Judge with a rubric that the engine knows by name.',
  z.strictObject({
    rubricName: described('Name of a rubric of the engine.', filled()),
    ...common(),
  }),
);

export const judgeByRubric = wireType(
  'JudgeByRubric',
  'Judge with the rubric that the request carries.',
  z.strictObject({ rubric, ...common() }),
);

export const judgeRequest = wireType(
  'JudgeRequest',
  'A judgement to make: exactly one of `rubricName` and `rubric`.',
  z.union([judgeByName, judgeByRubric]),
);

export const checkAnswer = wireType(
  'CheckAnswer',
  'How one yes/no question was answered.',
  z.object({
    question: text('The question.'),
    expect: described('The answer that speaks for the dimension.', z.enum(['yes', 'no'])),
    p: described(
      'Probability of the expected answer, 0 to 1.',
      z.number().check(z.minimum(0), z.maximum(1)),
    ),
  }),
);

export const notAssessed = z.enum(['failureModes', 'wins']);

export const judgeResult = wireType(
  'JudgeResult',
  'A verdict.',
  z.object({
    composite: described(
      'Weighted score from 0 to 1.',
      z.number().check(z.minimum(0), z.maximum(1)),
    ),
    dimensions: described(
      'Score of each rubric dimension, on the scale of that dimension.',
      z.record(z.string(), z.number()),
    ),
    failureModes: texts('Ids of the negative patterns found.'),
    wins: texts('Ids of the positive patterns found.'),
    rationale: text('Why, in the words of the model.'),
    rubricVersion: text('Name and hash of the rubric; equal means comparable.'),
    model: text('Model as reported by the provider.'),
    durationMs: count('Duration of this call in milliseconds.'),
    usage: described(
      'Tokens and cost; null when the provider did not report them.',
      z.nullable(usage),
    ),
    cached: described('True when no model was asked.', z.boolean()),
    attempts: count('Requests sent to the provider.'),
    judgeVersion: text(
      'Hash of the prompt version, score mode and sampling; equal means comparable.',
    ),
    scoreMode: described(
      'How the scores were made; "text" where "logprobs" was asked for and the endpoint gave none.',
      scoreMode,
    ),
    replyMode: text(
      'How the reply was asked for, such as "json_schema"; "token_probabilities" where a local model answered checks.',
    ),
    droppedParams: texts('Parameters the endpoint refused.'),
    warnings: texts('What to know before trusting the score.'),
    notAssessed: described('Lists that this mode could not fill.', z.array(notAssessed)),
    checks: described(
      'Answers behind each dimension, when scored by checks.',
      z.optional(z.record(z.string(), z.array(checkAnswer))),
    ),
    samples: described(
      'Each verdict behind a pooled one, in the order of the models; a member that failed has its error.',
      z.optional(z.array(panelMember)),
    ),
    stdev: described(
      'Standard deviation of the composites of a panel; null with fewer than two.',
      z.optional(z.nullable(z.number().check(z.minimum(0)))),
    ),
    agreement: described(
      'One minus the mean difference between the composites of two members of a panel; null with fewer than two.',
      z.optional(z.nullable(z.number().check(z.minimum(0), z.maximum(1)))),
    ),
    raw: described('Text of the model reply, when asked for.', z.optional(z.string())),
  }),
);

export type ProviderChoice = z.output<typeof providerChoice>;
export type JudgeRequest = z.output<typeof judgeByName> | z.output<typeof judgeByRubric>;
export type ScoreMode = z.output<typeof scoreMode>;
export type PoolMode = z.output<typeof poolMode>;
export type CheckAnswer = z.output<typeof checkAnswer>;
export type JudgeResult = z.output<typeof judgeResult>;
