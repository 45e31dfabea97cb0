/** One thing wrong with a value, as `details` of a `validation_error` carries it. */
export interface Issue {
  /** Where: keys and list positions joined by dots, empty for the value itself. */
  path: string;
  message: string;
}

export function issuePath(segments: readonly PropertyKey[]): string {
  return segments.map(String).join('.');
}
