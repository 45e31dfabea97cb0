/** Ways to speak to a model endpoint. */
export const DIALECTS = [
  'openai-chat',
  'openai-responses',
  'anthropic',
  'gemini',
  'azure',
  'xai',
  'openrouter',
  'cerebras',
] as const;

export type DialectName = (typeof DIALECTS)[number];
