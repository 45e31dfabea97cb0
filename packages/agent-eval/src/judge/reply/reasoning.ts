import { parseJson } from '../../core/json.js';
import { objectSpans, type Span } from './spans.js';

const TAG = /<(\/?)(?:think|thinking|thought|reasoning)>/gi;

/**
 * What a model says after it has thought. Text up to a closing tag is reasoning even when its opening tag is
 * missing; after an opening tag that never closes nothing is left. Tags inside the strings of an object
 * that is JSON are words of the verdict.
 */
export function withoutReasoning(text: string): string {
  if (!text.includes('<')) return text;
  const tags = [...text.matchAll(TAG)];
  if (tags.length === 0) return text;
  const verdicts = objectSpans(text, 'json').closed.filter((span) => isJson(text, span));
  const outside = tags.filter(({ index }) => !verdicts.some((span) => within(span, index)));
  let kept = '';
  let from = 0;
  let thinking = false;
  for (const tag of outside) {
    const closing = tag[1] === '/';
    if (closing && !thinking) kept = '';
    else if (!closing && !thinking) kept += text.slice(from, tag.index);
    thinking = !closing;
    from = tag.index + tag[0].length;
  }
  return thinking ? kept : kept + text.slice(from);
}

function within({ start, end }: Span, at: number): boolean {
  return start < at && at < end;
}

function isJson(text: string, { start, end }: Span): boolean {
  return parseJson(text.slice(start, end)) !== undefined;
}
