import * as z from 'zod/mini';
import { errorBody } from './errors.js';
import { judgeByName, MAX_SAMPLES } from './judge.js';
import { rubric } from './rubric.js';
import { usage } from './usage.js';
import { described, wireType } from './wire-types.js';

const filled = () => z.string().check(z.minLength(1, 'must not be empty'));
const text = (description: string) => described(description, z.string());
const share = () => z.number().check(z.minimum(0), z.maximum(1));

const { context, model, temperature, seed, maxTokens, timeoutMs, cache, provider } =
  judgeByName.shape;

const common = () => ({
  a: described('One text.', filled()),
  b: described('The other text.', filled()),
  context,
  model,
  swap: described(
    'Ask in both orders, so that a preference for a place shows; default true.',
    z.optional(z.boolean()),
  ),
  samples: described(
    'How often the two are compared; most comparisons decide. Default 1.',
    z.optional(z.int().check(z.minimum(1), z.maximum(MAX_SAMPLES))),
  ),
  scoreMode: described(
    '"text": the model says which text is better; "checks": each text is judged alone by the yes/no questions of the rubric. Default: "checks" for local models, else "text".',
    z.optional(z.enum(['text', 'checks'])),
  ),
  temperature,
  seed,
  maxTokens,
  timeoutMs,
  cache,
  provider,
});

export const compareByName = wireType(
  'CompareByName',
  'Compare by a rubric that the engine knows by name.',
  z.strictObject({
    rubricName: described('Name of a rubric of the engine.', filled()),
    ...common(),
  }),
);

export const compareByRubric = wireType(
  'CompareByRubric',
  'Compare by the rubric that the request carries.',
  z.strictObject({ rubric, ...common() }),
);

export const compareRequest = wireType(
  'CompareRequest',
  'Two texts to compare: exactly one of `rubricName` and `rubric`.',
  z.union([compareByName, compareByRubric]),
);

const side = z.enum(['a', 'b']);
const preference = z.enum(['a', 'b', 'tie']);
const first = () => described('The text that was shown first.', side);

export const orderVerdict = wireType(
  'OrderVerdict',
  'What the model preferred in one order of the texts.',
  z.object({
    first: first(),
    winner: described('The better text, or "tie".', preference),
    rationale: text('Why, in the words of the model.'),
    usage: described(
      'Tokens and cost; null when the provider did not report them.',
      z.nullable(usage),
    ),
    cached: described('True when no model was asked.', z.boolean()),
  }),
);

export const orderFailure = wireType(
  'OrderFailure',
  'An order of the texts that gave no answer, and why.',
  z.object({ first: first(), error: errorBody }),
);

export const orderOutcome = wireType(
  'OrderOutcome',
  'What became of one order of the texts.',
  z.union([orderVerdict, orderFailure]),
);

export const textPair = wireType(
  'TextPair',
  'A number for each of the two texts.',
  z.object({
    a: described('That of text `a`.', z.number()),
    b: described('That of text `b`.', z.number()),
  }),
);

export const compareResult = wireType(
  'CompareResult',
  'Which of two texts is better.',
  z.object({
    winner: described(
      'The text that most comparisons prefer in both orders, else "tie"; null when no comparison was complete.',
      z.nullable(preference),
    ),
    scores: described(
      'Composite of each text, when they were judged alone; else null.',
      z.nullable(textPair),
    ),
    flipped: described(
      'True when a comparison preferred the text in the same place in both orders.',
      z.boolean(),
    ),
    consistency: described(
      'Share of the comparisons whose two orders agree; null where only one order was asked.',
      z.nullable(share()),
    ),
    order: described(
      'Every answer, in the order of asking; empty when the texts were judged alone.',
      z.array(orderOutcome),
    ),
    lengths: described('Characters of each text: models tend to prefer the longer.', textPair),
    n: described('Complete comparisons behind the winner.', z.int().check(z.minimum(0))),
    rationale: text('Why, in the words of the model.'),
    rubricVersion: text('Name and hash of the rubric; equal means comparable.'),
    judgeVersion: text('Hash of the prompt version and sampling; equal means comparable.'),
    model: text('Model as reported by the provider.'),
    usage: described(
      'Tokens and cost of all answers; null when a provider did not report them.',
      z.nullable(usage),
    ),
    durationMs: described('Duration of this call in milliseconds.', z.int().check(z.minimum(0))),
    warnings: described(
      'What to know before trusting the winner; "singleOrder" when one order of a comparison gave no answer.',
      z.array(z.string()),
    ),
  }),
);

export type CompareRequest = z.output<typeof compareByName> | z.output<typeof compareByRubric>;
export type CompareResult = z.output<typeof compareResult>;
export type OrderOutcome = z.output<typeof orderOutcome>;
export type OrderVerdict = z.output<typeof orderVerdict>;
export type Preference = z.output<typeof preference>;
