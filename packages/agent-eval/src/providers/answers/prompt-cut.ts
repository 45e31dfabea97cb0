import type { ModelRequest, TokenUsage } from '../types.js';

/** Shorter prompts fit every model, and estimates of them are rough. */
const LEAST_CHARS = 8000;

/**
 * How many tokens a prompt has at the least, when the endpoint reports under half of that: it has cut the
 * prompt without saying so. Null when all is well, or nothing is known.
 */
export function promptCut(request: ModelRequest, usage: TokenUsage | null): number | null {
  if (usage === null || usage.inputTokens === 0) return null;
  const chars = request.system.text.length + request.user.length;
  if (chars < LEAST_CHARS) return null;
  const seen = usage.inputTokens + (usage.cachedInputTokens ?? 0);
  // The count below never comes to more than half of the characters, so most prompts need none.
  if (seen * 4 >= chars) return null;
  const least = leastTokens(request.system.text) + leastTokens(request.user);
  return seen * 2 < least ? least : null;
}

/** Longest stretch of letters that counts as one token, so that odd text is not taken for cut text. */
const LETTERS_PER_TOKEN = 8;
/** From here on are the scripts that write without spaces. */
const FIRST_IDEOGRAPH = 0x2e80;

/**
 * A cautious count: a word is one token for each eight characters begun, scripts without spaces have one for
 * two characters, and the rest never more than one for four.
 */
function leastTokens(text: string): number {
  let words = 0;
  let inWord = 0;
  let others = 0;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code >= FIRST_IDEOGRAPH) others += 1;
    if (code <= 32 || code >= FIRST_IDEOGRAPH) {
      inWord = 0;
      continue;
    }
    if (inWord % LETTERS_PER_TOKEN === 0) words += 1;
    inWord += 1;
  }
  return Math.floor(Math.min(words, (text.length - others) / 4) + others / 2);
}
