/** A text with its JSON spelling, so that what is sent again and again is escaped once. */
export interface EncodedText {
  readonly text: string;
  readonly json: string;
}

export function encodeText(text: string): EncodedText {
  return { text, json: JSON.stringify(text) };
}
