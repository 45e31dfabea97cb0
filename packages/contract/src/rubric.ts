import * as z from 'zod/mini';
import { described, wireType } from './wire-types.js';

/** Smallest sum of dimension weights that a composite can be divided by. */
export const MIN_TOTAL_WEIGHT = 1e-9;
export const MAX_DIMENSIONS = 200;
export const MAX_PATTERNS = 200;
export const MAX_CHECKS = 50;

/** 1 to 128 characters (code points), none of them a control character. */
const ID_PATTERN = /^[^\u0000-\u001f\u007f-\u009f]{1,128}$/u;

const id = (what: string) =>
  described(
    `${what}: 1 to 128 characters, no control characters.`,
    z
      .string()
      .check(z.regex(ID_PATTERN, 'must have 1 to 128 characters and no control characters')),
  );

const text = (description: string) => described(description, z.string());

const filled = (description: string) =>
  described(description, z.string().check(z.minLength(1, 'must not be empty')));

const weight = (description: string) =>
  described(description, z._default(z.number().check(z.minimum(0)), 1));

export const check = wireType(
  'Check',
  'One narrow yes/no question about the content.',
  z.strictObject({
    question: filled('The question, answerable with yes or no.'),
    expect: described(
      'The answer that speaks for the dimension or pattern.',
      z.enum(['yes', 'no']),
    ),
    weight: weight('Share of this question among its siblings.'),
  }),
);

const checks = () =>
  described(
    'Yes/no questions that answer for it when scoring by checks.',
    z.optional(z.array(check).check(z.minLength(1), z.maxLength(MAX_CHECKS))),
  );

export const rubricDimension = wireType(
  'RubricDimension',
  'One scored quality of the content.',
  z.strictObject({
    id: id('Name of the dimension, unique in its list'),
    description: text('What a high score means.'),
    weight: weight('Share of the dimension in the composite.'),
    min: described('Lowest score of the scale.', z._default(z.number(), 0)),
    max: described('Highest score of the scale; above min.', z._default(z.number(), 1)),
    checks: checks(),
  }),
);

const pattern = () =>
  z.strictObject({
    id: id('Name of the pattern, unique in its list'),
    description: text('How to recognise it.'),
    checks: checks(),
  });

export const failureMode = wireType(
  'FailureMode',
  'A negative pattern the judge looks for.',
  pattern(),
);

export const win = wireType('Win', 'A positive pattern the judge looks for.', pattern());

export const rubric = wireType(
  'Rubric',
  'What to judge by.',
  z.strictObject({
    name: id('Name of the rubric'),
    description: text('What the rubric is for.'),
    systemPrompt: filled('Instructions the judge model reads first.'),
    dimensions: described(
      'What is scored.',
      z.array(rubricDimension).check(z.minLength(1), z.maxLength(MAX_DIMENSIONS)),
    ),
    failureModes: described(
      'Negative patterns to look for.',
      z._default(z.array(failureMode).check(z.maxLength(MAX_PATTERNS)), []),
    ),
    wins: described(
      'Positive patterns to look for.',
      z._default(z.array(win).check(z.maxLength(MAX_PATTERNS)), []),
    ),
  }),
);

export type Check = z.output<typeof check>;
export type RubricDimension = z.output<typeof rubricDimension>;
export type FailureMode = z.output<typeof failureMode>;
export type Win = z.output<typeof win>;
export type Rubric = z.output<typeof rubric>;
/** A rubric as a caller may write it: what has a default may be left out. */
export type RubricInput = z.input<typeof rubric>;
