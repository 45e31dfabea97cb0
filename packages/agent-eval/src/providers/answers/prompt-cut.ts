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
  // Nothing has more tokens than this, so most prompts need no count.
  if (seen * 2 >= chars) return null;
  const least = leastTokens(request.system.text) + leastTokens(request.user);
  return seen * 2 < least ? least : null;
}

/** Longest stretch of letters that counts as one token, so that odd text is not taken for cut text. */
const LETTERS_PER_TOKEN = 8;

/**
 * A cautious count: a word is one token for each eight characters begun, other scripts have one for two
 * characters, and never more than a quarter of the bytes in all.
 */
function leastTokens(text: string): number {
  let words = 0;
  let inWord = 0;
  let others = 0;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code > 127) others += 1;
    if (code <= 32 || code > 127) {
      inWord = 0;
      continue;
    }
    if (inWord % LETTERS_PER_TOKEN === 0) words += 1;
    inWord += 1;
  }
  return Math.floor(Math.min(words, (text.length - others) / 4) + others / 2);
}
