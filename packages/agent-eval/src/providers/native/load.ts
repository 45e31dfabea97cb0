import type { DialectName } from '../../core/dialect-name.js';
import { type Dialect, OPENAI_CHAT } from '../dialect.js';

/** Dialects but the plain one are read when an endpoint first needs them. */
export async function loadDialect(name: DialectName): Promise<Dialect> {
  switch (name) {
    case 'openai-chat':
      return OPENAI_CHAT;
    case 'openai-responses':
      return (await import('./responses.js')).OPENAI_RESPONSES;
    case 'anthropic':
      return (await import('./anthropic.js')).ANTHROPIC;
    case 'gemini':
      return (await import('./gemini.js')).GEMINI;
    case 'azure':
      return (await import('./chat-kin.js')).AZURE;
    case 'xai':
      return (await import('./chat-kin.js')).XAI;
    case 'openrouter':
      return (await import('./chat-kin.js')).OPENROUTER;
    case 'cerebras':
      return (await import('./chat-kin.js')).CEREBRAS;
  }
}
