/** A stretch of a text: from `start` up to, not including, `end`. */
export interface Span {
  start: number;
  end: number;
}

export interface Spans {
  /** Objects that close, none inside another, in the order of the text. */
  closed: Span[];
  /** Where braces stand that never close, and those that close nothing. */
  open: number[];
  stray: number[];
}

/**
 * Finds the balanced objects of a text in one pass. Quotes count inside braces only, since prose has
 * apostrophes and stray quotes; `quotes: 'line'` also ends a string at the end of its line, which finds
 * what follows a stray quote.
 */
export function objectSpans(text: string, quotes: 'json' | 'line'): Spans {
  const opens: number[] = [];
  const closed: Span[] = [];
  const stray: number[] = [];
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE || (code === NEWLINE && quotes === 'line')) inString = false;
    } else if (code === QUOTE) {
      inString = opens.length > 0;
    } else if (code === OPEN) {
      opens.push(at);
    } else if (code === CLOSE) {
      const start = opens.pop();
      if (start === undefined) stray.push(at);
      else keepOutermost(closed, { start, end: at + 1 });
    }
  }
  return { closed, open: opens, stray };
}

/** Spans end in the order they are found, so those inside a new one are the last of the list. */
function keepOutermost(closed: Span[], span: Span): void {
  while ((closed.at(-1)?.start ?? -1) > span.start) closed.pop();
  closed.push(span);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NEWLINE = 0x0a;
const OPEN = 0x7b;
const CLOSE = 0x7d;
