import type { DialectName } from '../../core/dialect-name.js';
import { type Dialect, OPENAI_CHAT } from '../dialect.js';

/** Dialects but the plain one are read when an endpoint first needs them. */
export async function loadDialect(name: DialectName): Promise<Dialect> {
  switch (name) {
    case 'openai-chat':
      return OPENAI_CHAT;
    case 'anthropic':
      return (await import('./anthropic.js')).ANTHROPIC;
  }
}
