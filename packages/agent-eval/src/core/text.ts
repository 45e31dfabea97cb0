const NUL = /\u0000/g;

/** Replaces what no prompt, hash or JSON text may hold: lone surrogates and NUL become U+FFFD. */
export function cleanText(text: string): string {
  const wellFormed = text.toWellFormed();
  return wellFormed.includes('\u0000') ? wellFormed.replace(NUL, '\ufffd') : wellFormed;
}

/** Deepest nesting of a value that is worked on; more would exhaust the stack somewhere. */
export const MAX_DEPTH = 200;

export class NestedTooDeep extends Error {
  constructor() {
    super(`is nested more than ${MAX_DEPTH} deep`);
  }
}

/** `cleanText` for every string and key inside a JSON value; a clean one is returned as it is. Throws `NestedTooDeep`. */
export function cleanDeep(value: unknown): unknown {
  return isClean(value, 0) ? value : cleaned(value);
}

function isClean(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\u0000');
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= MAX_DEPTH) throw new NestedTooDeep();
  let clean = true;
  for (const [key, member] of Object.entries(value)) {
    if (!isClean(key, depth) || !isClean(member, depth + 1)) clean = false;
  }
  return clean;
}

/** Of a value whose depth is known to be allowed. */
function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(cleaned);
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [cleanText(key), cleaned(member)]),
  );
}

/** The beginning of a text, at most `limit` characters, for messages. */
export function beginning(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit).toWellFormed()}…`;
}

/** Names among `known` that look like `name`, nearest first. */
export function nearNames(name: string, known: readonly string[], most = 3): string[] {
  const wanted = name.toLowerCase();
  return known
    .map((candidate) => ({ candidate, distance: editDistance(wanted, candidate.toLowerCase()) }))
    .filter(
      ({ candidate, distance }) =>
        distance <= Math.max(2, wanted.length / 3) ||
        candidate.includes(wanted) ||
        (candidate.length > 2 && wanted.includes(candidate)),
    )
    .sort((a, b) => a.distance - b.distance)
    .slice(0, most)
    .map(({ candidate }) => candidate);
}

/** Levenshtein distance; names only, so inputs are cut at 64 characters. */
function editDistance(a: string, b: string): number {
  const left = a.slice(0, 64);
  const right = b.slice(0, 64);
  let previous = Array.from({ length: right.length + 1 }, (_, i) => i);
  for (let i = 1; i <= left.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const substitution = (previous[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}

/** How many characters a text has: a pair of surrogates is one. */
export function characters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
