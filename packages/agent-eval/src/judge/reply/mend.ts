import { jsonrepair } from 'jsonrepair';

/** What mending gave; `cut` when the text ended before its JSON did. */
export type Mended = { kind: 'json'; json: string } | { kind: 'cut' } | { kind: 'hopeless' };

/** The library may look at the rest of the text for each stray quote; a verdict is far shorter. */
const MAX_CHARS = 32 * 1024;

/** Mends a text that should be one JSON object: quotes, commas, literals of other languages, escapes. */
export function mend(text: string): Mended {
  if (text.length > MAX_CHARS) return { kind: 'hopeless' };
  if (!numbersAreWhole(text.slice(text.lastIndexOf('dimensions')))) return { kind: 'hopeless' };
  let json: string;
  try {
    json = jsonrepair(text);
  } catch {
    return { kind: 'hopeless' };
  }
  return closers(json) > closers(text) ? { kind: 'cut' } : { kind: 'json', json };
}

/** What stands as a value and begins like a number, up to what could end it, with what follows. */
const NUMBER_LIKE = /:\s*(?:["'“”]\s*)?([\d.+-][^\s,}\]"'“”]*)(["'“”]?\s*.?\s*.?)/gsu;
const NUMBER = /^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?$/i;
/** A comma and no further number, a closing bracket, a key where the comma is missing, or the end. */
const AFTER = /^["'“”]?\s*(?:,\s*(?:[^\d.+\s-]|$)|[}\]"'“\p{L}_]|$)/u;

/**
 * Whether every number among the scores is one as it stands. A mender would make something of "0.", "08" or
 * half of a number too, but what was meant would be a guess.
 */
function numbersAreWhole(text: string): boolean {
  for (const [, number = '', after = ''] of text.matchAll(NUMBER_LIKE)) {
    if (!NUMBER.test(number) || !AFTER.test(after)) return false;
  }
  return true;
}

/** Brackets that close at the very end: more of them after mending means that something had been left open. */
function closers(text: string): number {
  let count = 0;
  for (let at = text.length - 1; at >= 0; at -= 1) {
    const character = text.charAt(at);
    if (character === '}' || character === ']') count += 1;
    else if (character !== ',' && character.trim() !== '') break;
  }
  return count;
}
