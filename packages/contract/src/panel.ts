import * as z from 'zod/mini';
import { errorBody } from './errors.js';
import { usage } from './usage.js';
import { described, wireType } from './wire-types.js';

const text = (description: string) => described(description, z.string());
const texts = (description: string) => described(description, z.array(z.string()));

export const panelVerdict = wireType(
  'PanelVerdict',
  'What one member of a panel said.',
  z.object({
    model: text('Model as reported by the provider.'),
    composite: described(
      'Weighted score from 0 to 1.',
      z.number().check(z.minimum(0), z.maximum(1)),
    ),
    dimensions: described('Score of each rubric dimension.', z.record(z.string(), z.number())),
    failureModes: texts('Ids of the negative patterns found.'),
    wins: texts('Ids of the positive patterns found.'),
    rationale: text('Why, in the words of the model.'),
    usage: described(
      'Tokens and cost; null when the provider did not report them.',
      z.nullable(usage),
    ),
    cached: described('True when no model was asked.', z.boolean()),
  }),
);

export const panelFailure = wireType(
  'PanelFailure',
  'A member of a panel that gave no verdict, and why.',
  z.object({ model: text('Model as it was asked for.'), error: errorBody }),
);

export const panelMember = wireType(
  'PanelMember',
  'One member of a panel: its verdict, or its error.',
  z.union([panelVerdict, panelFailure]),
);

export type PanelVerdict = z.output<typeof panelVerdict>;
export type PanelMember = z.output<typeof panelMember>;
