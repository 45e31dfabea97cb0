/** Part of every judgeVersion in checks mode. */
export const CHECKS_PROMPT_VERSION = 'checks-1';

/** Heading of the text that is judged. */
const TEXT = 'Text';
const SYSTEM = 'You answer questions about a text.';

/** A prompt for yes/no questions: what comes before the question is shared by all of them. */
export interface ChecksPrompt {
  system: string;
  /** The user message up to the question; untrusted parts are never read as template. */
  parts: { text: string; trusted: boolean }[];
  /** Each ends the user message in its own copy. */
  questions: string[];
}

/**
 * Shows each field between runs of quotes that are longer than any run inside a field, so that no field
 * can close its own quotes.
 */
export function checksPrompt(
  content: string,
  context: Record<string, unknown> | undefined,
  questions: readonly string[],
): ChecksPrompt {
  const fields = [
    ...Object.entries(context ?? {})
      .filter(([, value]) => value !== null)
      .map(([key, value]) => ({ label: label(key), text: textOf(value) })),
    { label: TEXT, text: content },
  ];
  const quotes = '"'.repeat(Math.max(3, 1 + longestQuoteRun(fields.map((field) => field.text))));
  return {
    system: SYSTEM,
    parts: fields.flatMap(({ label: name, text }) => [
      { text: name, trusted: name === TEXT },
      { text: `:\n${quotes}\n`, trusted: true },
      { text, trusted: false },
      { text: `\n${quotes}\n\n`, trusted: true },
    ]),
    questions: questions.map((question) => `${question} Answer Yes or No.`),
  };
}

/** A key as a heading: one line, no quotes, and never the heading of the text that is judged. */
function label(key: string): string {
  const line = key.replace(/[\s"\u0000-\u001f]+/g, ' ').trim();
  const heading = line.charAt(0).toUpperCase() + line.slice(1);
  return heading === '' || heading === TEXT ? `Context ${heading}`.trim() : heading;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function longestQuoteRun(texts: readonly string[]): number {
  let longest = 0;
  for (const text of texts) {
    for (const run of text.matchAll(/"+/g)) longest = Math.max(longest, run[0].length);
  }
  return longest;
}
