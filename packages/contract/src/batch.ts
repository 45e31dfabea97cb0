import * as z from 'zod/mini';
import { errorBody } from './errors.js';
import { judgeByName, judgeByRubric, judgeResult } from './judge.js';
import { described, wireType } from './wire-types.js';

export const MAX_BATCH_ID_LENGTH = 256;

const batchId = () =>
  described(
    'Given back with the outcome.',
    z.optional(z.union([z.string().check(z.maxLength(MAX_BATCH_ID_LENGTH)), z.int()])),
  );

export const batchLineByName = wireType(
  'BatchLineByName',
  'One judgement of a batch, with a rubric that the engine knows by name.',
  z.extend(judgeByName, { id: batchId() }),
);

export const batchLineByRubric = wireType(
  'BatchLineByRubric',
  'One judgement of a batch, with the rubric that the line carries.',
  z.extend(judgeByRubric, { id: batchId() }),
);

export const batchLine = wireType(
  'BatchLine',
  'One line of a batch: a judge request, and an id of your own where you want one.',
  z.union([batchLineByName, batchLineByRubric]),
);

const place = () => ({
  index: described(
    'Which line this is about; blank lines are not counted.',
    z.int().check(z.minimum(0)),
  ),
  id: batchId(),
});

export const batchScored = wireType(
  'BatchScored',
  'A line that got a verdict.',
  z.object({ ...place(), outcome: z.literal('scored'), result: judgeResult }),
);

export const batchUnscored = wireType(
  'BatchUnscored',
  'A line that got none, and why.',
  z.object({ ...place(), outcome: z.literal('unscored'), error: errorBody }),
);

export const batchOutcome = wireType(
  'BatchOutcome',
  'What became of one line of a batch; every line has exactly one.',
  z.union([batchScored, batchUnscored]),
);

export type BatchOutcome = z.output<typeof batchOutcome>;
