import type { Rubric, RubricDimension } from '@tangle-network/agent-eval-contract';
import { type EncodedText, encodeText } from '../../core/encoded-text.js';
import { systemMessage } from '../prompt.js';
import { replySchema } from '../reply-schema.js';

/** The scale of a dimension that has no grades of its own. */
const TEN = { min: 0, max: 10 };

/** A rubric as it is asked for in whole numbers. */
export interface Graded {
  /** The rubric with the scale of each dimension replaced by its grades. */
  rubric: Rubric;
  system: EncodedText;
  schema: { name: string; json: string };
}

const made = new WeakMap<Rubric, Graded>();

/** Made once for each rubric object. */
export function graded(rubric: Rubric): Graded {
  const known = made.get(rubric);
  if (known !== undefined) return known;
  const asked = {
    ...rubric,
    dimensions: rubric.dimensions.map((dimension) => ({ ...dimension, ...gradesOf(dimension) })),
  };
  const result = {
    rubric: asked,
    system: encodeText(systemMessage(rubric, described)),
    schema: { name: 'verdict', json: replySchema(asked, 'integer') },
  };
  made.set(rubric, result);
  return result;
}

/**
 * Whole numbers that stand for the scale of a dimension: its own where it is one of a few such numbers,
 * else 0 to 10. Fewer digits make fewer tokens, and one that stands alone has a probability of its own.
 */
export function gradesOf({ min, max }: RubricDimension): { min: number; max: number } {
  const whole = Number.isInteger(min) && Number.isInteger(max);
  return whole && min >= 0 && max <= 10 && max - min >= 2 ? { min, max } : TEN;
}

/** A grade on the scale of its dimension. */
export function fromGrade(dimension: RubricDimension, grade: number): number {
  const { min, max } = gradesOf(dimension);
  if (min === dimension.min && max === dimension.max) return grade;
  return dimension.min + ((grade - min) / (max - min)) * (dimension.max - dimension.min);
}

function described(dimension: RubricDimension): string {
  const { min, max } = gradesOf(dimension);
  const scale = `a whole number from ${min} to ${max}`;
  if (min === dimension.min && max === dimension.max) return scale;
  return `${scale} (${min} stands for ${dimension.min} and ${max} for ${dimension.max} on the scale of the rubric)`;
}
