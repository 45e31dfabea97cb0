/** Ways to speak to a model endpoint. */
export const DIALECTS = ['openai-chat', 'anthropic'] as const;

export type DialectName = (typeof DIALECTS)[number];
