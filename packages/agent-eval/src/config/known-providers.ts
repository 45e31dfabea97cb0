/** A provider that a model-name prefix stands for. */
export interface KnownProvider {
  /** OpenAI-compatible base URL; null where each customer has an address of their own. */
  baseUrl: string | null;
  /** Variables that may hold its key, in order. */
  keys: readonly string[];
}

export const PROVIDERS: Readonly<Record<string, KnownProvider>> = {
  openai: { baseUrl: 'https://api.openai.com/v1', keys: ['OPENAI_API_KEY'] },
  anthropic: { baseUrl: 'https://api.anthropic.com/v1', keys: ['ANTHROPIC_API_KEY'] },
  gemini: {
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  },
  xai: { baseUrl: 'https://api.x.ai/v1', keys: ['XAI_API_KEY'] },
  openrouter: { baseUrl: 'https://openrouter.ai/api/v1', keys: ['OPENROUTER_API_KEY'] },
  cerebras: { baseUrl: 'https://api.cerebras.ai/v1', keys: ['CEREBRAS_API_KEY'] },
  azure: { baseUrl: null, keys: ['AZURE_API_KEY'] },
};
