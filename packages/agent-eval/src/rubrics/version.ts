import type { Rubric } from '@tangle-network/agent-eval-contract';
import { canonicalJson, sha256Hex } from '../core/hash.js';

/**
 * `<name>@sha256-rfc8785:<hex>` over the RFC 8785 canonical JSON of what decides the scores. Checks are
 * left out: they are another way to ask for the same rubric.
 */
export function rubricVersion(rubric: Rubric): string {
  const identity = {
    name: rubric.name,
    description: rubric.description,
    systemPrompt: rubric.systemPrompt,
    dimensions: rubric.dimensions.map(({ id, description, weight, min, max }) => ({
      id,
      description,
      weight,
      min,
      max,
    })),
    failureModes: rubric.failureModes.map(({ id, description }) => ({ id, description })),
    wins: rubric.wins.map(({ id, description }) => ({ id, description })),
  };
  return `${rubric.name}@sha256-rfc8785:${sha256Hex(canonicalJson(identity))}`;
}
