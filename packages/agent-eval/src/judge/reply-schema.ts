import type { Rubric } from '@tangle-network/agent-eval-contract';

/** JSON Schema of the verdict that the model must give for this rubric, as JSON text. */
export function replySchema(rubric: Rubric, scores: 'number' | 'integer' = 'number'): string {
  const ids = rubric.dimensions.map((dimension) => dimension.id);
  const properties = rubric.dimensions.map(({ id, min, max }) => [
    id,
    { type: scores, minimum: min, maximum: max },
  ]);
  return JSON.stringify({
    type: 'object',
    properties: {
      rationale: { type: 'string' },
      dimensions: {
        type: 'object',
        properties: Object.fromEntries(properties),
        required: ids,
        additionalProperties: false,
      },
      failureModes: idList(rubric.failureModes),
      wins: idList(rubric.wins),
    },
    required: ['rationale', 'dimensions', 'failureModes', 'wins'],
    additionalProperties: false,
  });
}

/** An empty enum is not valid JSON Schema, so a rubric without ids gets a list that must be empty. */
function idList(entries: readonly { id: string }[]): object {
  if (entries.length === 0) return { type: 'array', items: { type: 'string' }, maxItems: 0 };
  return { type: 'array', items: { type: 'string', enum: entries.map((entry) => entry.id) } };
}
