import * as crypto from 'node:crypto';
import canonicalizeModule from 'canonicalize';

// The package is CommonJS and exports the function itself; its typings describe an ES default export.
const canonicalize = canonicalizeModule as unknown as (value: unknown) => string | undefined;

/** RFC 8785 canonical JSON. */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('Only JSON values have a canonical form');
  return text;
}

export function sha256Hex(text: string): string {
  // `hash` came with Node 20.12 and takes a third of the time.
  if (crypto.hash !== undefined) return crypto.hash('sha256', text, 'hex');
  return crypto.createHash('sha256').update(text, 'utf8').digest('hex');
}
