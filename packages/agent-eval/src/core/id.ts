import { randomUUID } from 'node:crypto';

/** A name that nothing else has. */
export function newId(): string {
  return randomUUID();
}
