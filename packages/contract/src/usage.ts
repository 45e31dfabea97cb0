import * as z from 'zod/mini';
import { described, wireType } from './wire-types.js';

const count = (description: string) => described(description, z.int().check(z.minimum(0)));

export const usage = wireType(
  'Usage',
  'Tokens and money of the model calls behind an answer.',
  z.object({
    inputTokens: count('Tokens sent.'),
    outputTokens: count('Tokens received.'),
    cachedInputTokens: described(
      'Sent tokens the provider had cached.',
      z.optional(z.int().check(z.minimum(0))),
    ),
    costUsd: described(
      'Cost in US dollars; null when the price is unknown.',
      z.nullable(z.number().check(z.minimum(0))),
    ),
  }),
);

export type Usage = z.output<typeof usage>;
