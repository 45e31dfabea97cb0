/** Part of every judgeVersion in checks mode. */
export const CHECKS_PROMPT_VERSION = 'checks-1';

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
    { label: 'Text', text: content },
  ];
  const quotes = '"'.repeat(Math.max(3, 1 + longestQuoteRun(fields.map((field) => field.text))));
  return {
    system: SYSTEM,
    parts: fields.flatMap(({ label: name, text }) => [
      { text: `${name}`, trusted: name === 'Text' },
      { text: `:\n${quotes}\n`, trusted: true },
      { text, trusted: false },
      { text: `\n${quotes}\n\n`, trusted: true },
    ]),
    questions: questions.map((question) => `${question} Answer Yes or No.`),
  };
}

function label(key: string): string {
  return key.charAt(0).toUpperCase() + key.slice(1);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function longestQuoteRun(texts: readonly string[]): number {
  return Math.max(
    0,
    ...texts.flatMap((text) => (text.match(/"+/g) ?? []).map((run) => run.length)),
  );
}
