import { sha256Hex } from '../core/hash.js';

/**
 * A token for the boundary lines of a prompt, derived from all untrusted fields together and derived again
 * while a field contains it: no field can hold a valid boundary line of its own prompt, and the same input
 * gives the same prompt.
 */
export function boundaryToken(fields: readonly string[]): string {
  const joined = JSON.stringify(fields);
  for (let round = 0; ; round += 1) {
    const token = sha256Hex(`${round}:${joined}`).slice(0, 16);
    if (!fields.some((field) => field.includes(token))) return token;
  }
}
