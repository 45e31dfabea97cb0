import * as z from 'zod';
import { wireType } from './wire-types.js';

/** Smallest sum of dimension weights that a composite can be divided by. */
export const MIN_TOTAL_WEIGHT = 1e-9;
export const MAX_DIMENSIONS = 200;
export const MAX_PATTERNS = 200;
export const MAX_CHECKS = 50;

/** 1 to 128 characters (code points), none of them a control character. */
const ID_PATTERN = /^[^\u0000-\u001f\u007f-\u009f]{1,128}$/u;

const id = (what: string) =>
  z
    .string()
    .regex(ID_PATTERN, 'must have 1 to 128 characters and no control characters')
    .describe(`${what}: 1 to 128 characters, no control characters.`);

const text = (description: string) => z.string().describe(description);

export const check = wireType(
  'Check',
  'One narrow yes/no question about the content.',
  z.strictObject({
    question: z.string().min(1).describe('The question, answerable with yes or no.'),
    expect: z.enum(['yes', 'no']).describe('The answer that speaks for the dimension or pattern.'),
    weight: z.number().min(0).default(1).describe('Share of this question among its siblings.'),
  }),
);

const checks = z
  .array(check)
  .min(1)
  .max(MAX_CHECKS)
  .optional()
  .describe('Yes/no questions that answer for it when scoring by checks.');

export const rubricDimension = wireType(
  'RubricDimension',
  'One scored quality of the content.',
  z.strictObject({
    id: id('Name of the dimension, unique in its list'),
    description: text('What a high score means.'),
    weight: z.number().min(0).default(1).describe('Share of the dimension in the composite.'),
    min: z.number().default(0).describe('Lowest score of the scale.'),
    max: z.number().default(1).describe('Highest score of the scale; above min.'),
    checks,
  }),
);

const pattern = () =>
  z.strictObject({
    id: id('Name of the pattern, unique in its list'),
    description: text('How to recognise it.'),
    checks,
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
    systemPrompt: z.string().min(1).describe('Instructions the judge model reads first.'),
    dimensions: z.array(rubricDimension).min(1).max(MAX_DIMENSIONS).describe('What is scored.'),
    failureModes: z
      .array(failureMode)
      .max(MAX_PATTERNS)
      .default([])
      .describe('Negative patterns to look for.'),
    wins: z.array(win).max(MAX_PATTERNS).default([]).describe('Positive patterns to look for.'),
  }),
);

export type Check = z.output<typeof check>;
export type RubricDimension = z.output<typeof rubricDimension>;
export type FailureMode = z.output<typeof failureMode>;
export type Win = z.output<typeof win>;
export type Rubric = z.output<typeof rubric>;
/** A rubric as a caller may write it: what has a default may be left out. */
export type RubricInput = z.input<typeof rubric>;
