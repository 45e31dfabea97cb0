import {
  AgentEvalError,
  type Check,
  parseRubric,
  type Rubric,
} from '@tangle-network/agent-eval-contract';

/** Constants that turn a model's log-odds for a question into a probability. */
export interface Calibration {
  /** SHA-256 of the model file. */
  model: string;
  question: string;
  expect: Check['expect'];
  /** Middle between the mean log-odds of good and bad texts. */
  midpoint: number;
  /** Half the distance between those means. */
  halfGap: number;
}

/** A text with what it shows. */
export interface Example {
  label: 'good' | 'bad';
  content: string;
  context?: Record<string, unknown>;
}

/** What a rubric file holds. Only the rubric is hashed and served. */
export interface RubricEntry {
  rubric: Rubric;
  examples: readonly Example[];
  calibration: readonly Calibration[];
  /** Whether its checks were shown to hold for the small local model, and if not, why. */
  smallModels: { ok: boolean; reason?: string };
}

/** Reads the value of a rubric file: a bare rubric, or `{rubric, examples, calibration, smallModels}`. */
export function readEntry(value: unknown): RubricEntry {
  if (!isRecord(value)) throw invalid('must be a JSON object');
  if (!isRecord(value.rubric)) {
    return {
      rubric: parseRubric(value),
      examples: [],
      calibration: [],
      smallModels: { ok: false },
    };
  }
  const { examples = [], calibration = [], smallModels = { ok: false } } = value;
  if (!isArrayOf(examples, isExample)) throw invalid('examples must list {label, content}');
  if (!isArrayOf(calibration, isCalibration)) {
    throw invalid(
      'calibration must list {model, question, expect, midpoint, halfGap}, halfGap > 0',
    );
  }
  if (!isRecord(smallModels)) throw invalid('smallModels must be {ok, reason}');
  return {
    rubric: parseRubric(value.rubric),
    examples,
    calibration,
    smallModels: {
      ok: smallModels.ok === true,
      ...(typeof smallModels.reason === 'string' && { reason: smallModels.reason }),
    },
  };
}

function invalid(message: string): AgentEvalError {
  return new AgentEvalError('validation_error', `Invalid rubric file: ${message}.`, {
    issues: [{ path: '', message }],
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isArrayOf<T>(value: unknown, is: (member: unknown) => member is T): value is T[] {
  return Array.isArray(value) && value.every(is);
}

function isExample(value: unknown): value is Example {
  return (
    isRecord(value) &&
    (value.label === 'good' || value.label === 'bad') &&
    typeof value.content === 'string'
  );
}

function isCalibration(value: unknown): value is Calibration {
  return (
    isRecord(value) &&
    typeof value.model === 'string' &&
    typeof value.question === 'string' &&
    (value.expect === 'yes' || value.expect === 'no') &&
    Number.isFinite(value.midpoint) &&
    typeof value.halfGap === 'number' &&
    Number.isFinite(value.halfGap) &&
    value.halfGap > 0
  );
}
