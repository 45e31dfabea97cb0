/** An object to look into, an empty one for anything else. */
export function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

export function array(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A count of tokens, null where there is none. */
export function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** A text that says something, else the fallback. */
export function stringOr<T>(value: unknown, fallback: T): string | T {
  return typeof value === 'string' && value !== '' ? value : fallback;
}
