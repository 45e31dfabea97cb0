import type { TokenLogprob, TokenPlace } from '../../providers/types.js';
import type { Span } from '../reply/spans.js';
import { valueSpans } from './value-spans.js';

/** A value of a reply among the tokens it was written with. */
export interface PlacedValue {
  /** The value as it was written. */
  text: string;
  /** Which token holds its first character. */
  token: number;
}

/** The plain values of `{main: {id: value}}` in what the tokens spell, by id. */
export function placedValues(
  places: readonly TokenPlace[],
  main: string,
): Map<string, PlacedValue> {
  const starts: number[] = [];
  let length = 0;
  for (const { token } of places) {
    starts.push(length);
    length += token.length;
  }
  const text = places.map(({ token }) => token).join('');
  const placed = ({ start, end }: Span): PlacedValue => {
    const value = text.slice(start, end);
    const first = start + (value.length - value.trimStart().length);
    return { text: value.trim(), token: tokenAt(starts, first) };
  };
  return new Map([...valueSpans(text, main)].map(([id, span]) => [id, placed(span)]));
}

/** The last token that starts at or before a place; an empty one holds nothing. */
function tokenAt(starts: readonly number[], place: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The tokens that could have stood at a place with their probabilities, the one that does among them. */
export function candidates(place: TokenPlace): { token: string; p: number }[] {
  const own = place.top.some(({ token }) => token === place.token) ? [] : [place];
  return [...place.top, ...own].map(({ token, logprob }: TokenLogprob) => ({
    token,
    p: Math.exp(Math.min(0, logprob)),
  }));
}

/** A token without the white space, quotes and colon before the value it starts. */
export function valueStart(token: string): string {
  return token.replace(/^[\s":']+/, '');
}
