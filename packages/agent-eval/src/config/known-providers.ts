import type { DialectName } from '../core/dialect-name.js';

/** A provider that a model-name prefix stands for. */
export interface KnownProvider {
  dialect: DialectName;
  /** Its public base URL; null where each customer has an address of their own. */
  baseUrl: string | null;
  /** Variables that may hold another base URL for it, in order. */
  baseUrls: readonly string[];
  /** Variable that names a customer's place under a common address. */
  resource?: { variable: string; address: (name: string) => string };
  /** Variable that holds the version of the API, where the address must say it. */
  apiVersion?: string;
  /** Variables that may hold its key, in order. It goes to the base URL of this row, and to no other. */
  keys: readonly string[];
}

export const PROVIDERS: Readonly<Record<string, KnownProvider>> = {
  openai: {
    dialect: 'openai-chat',
    baseUrl: 'https://api.openai.com/v1',
    baseUrls: ['OPENAI_BASE_URL'],
    keys: ['OPENAI_API_KEY'],
  },
  'openai-responses': {
    dialect: 'openai-responses',
    baseUrl: 'https://api.openai.com/v1',
    baseUrls: ['OPENAI_BASE_URL'],
    keys: ['OPENAI_API_KEY'],
  },
  anthropic: {
    dialect: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    baseUrls: ['ANTHROPIC_BASE_URL'],
    keys: ['ANTHROPIC_API_KEY'],
  },
  gemini: {
    dialect: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    baseUrls: ['GEMINI_BASE_URL'],
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  },
  xai: {
    dialect: 'xai',
    baseUrl: 'https://api.x.ai/v1',
    baseUrls: ['XAI_BASE_URL'],
    keys: ['XAI_API_KEY'],
  },
  openrouter: {
    dialect: 'openrouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    baseUrls: ['OPENROUTER_BASE_URL'],
    keys: ['OPENROUTER_API_KEY'],
  },
  cerebras: {
    dialect: 'cerebras',
    baseUrl: 'https://api.cerebras.ai/v1',
    baseUrls: ['CEREBRAS_BASE_URL'],
    keys: ['CEREBRAS_API_KEY'],
  },
  azure: {
    dialect: 'azure',
    baseUrl: null,
    baseUrls: ['AZURE_BASE_URL', 'AZURE_API_BASE'],
    resource: {
      variable: 'AZURE_RESOURCE_NAME',
      address: (name) => `https://${name}.openai.azure.com`,
    },
    apiVersion: 'AZURE_API_VERSION',
    keys: ['AZURE_API_KEY'],
  },
};
