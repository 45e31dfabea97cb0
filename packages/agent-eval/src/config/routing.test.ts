import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { describe, expect, it } from 'vitest';
import urlCases from '../../../../tests/vectors/base-urls.json' with { type: 'json' };
import cases from '../../../../tests/vectors/routing.json' with { type: 'json' };
import { parseBaseUrl } from './base-url.js';
import { resolveSettings } from './resolve.js';
import { route } from './routing.js';

interface Case {
  name: string;
  env: Record<string, string>;
  model_arg?: string;
  base_url_arg?: string;
  api_key_arg?: string;
  provider?: { name?: string; baseUrl?: string; apiKey?: string };
  url?: string;
  key?: string | null;
  model?: string;
  local?: string;
  dialect?: string;
  error?: string;
  says?: string;
}

function decide(example: Case) {
  const args = { baseUrl: example.base_url_arg, apiKey: example.api_key_arg };
  const { settings, sources } = resolveSettings(example.env, args);
  const { env, model_arg: model, provider } = example;
  return route({ settings, sources, env, model, provider });
}

function failure(run: () => unknown): AgentEvalError {
  try {
    run();
  } catch (error) {
    if (error instanceof AgentEvalError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('routing', () => {
  it.each(cases as Case[])('$name', (example) => {
    if (example.error !== undefined) {
      const error = failure(() => decide(example));
      expect(error.code).toBe(example.error);
      expect(error.message).toContain(example.says);
      for (const value of Object.values(example.env).filter((v) => v.startsWith('k-'))) {
        expect(error.message).not.toContain(value);
      }
      return;
    }
    const chosen = decide(example);
    if (chosen.kind === 'local') {
      expect(chosen.model).toBe(example.local);
      return;
    }
    expect(`${chosen.url.origin}${chosen.url.path}${chosen.url.query}`).toBe(example.url);
    expect(chosen.apiKey).toBe(example.key);
    expect(chosen.model).toBe(example.model);
    expect(chosen.dialect).toBe(example.dialect ?? 'openai-chat');
  });
});

describe('base URLs', () => {
  it.each(urlCases as { value: string; target?: string; error?: string }[])(
    '$value',
    ({ value, target, error }) => {
      if (error !== undefined) {
        const caught = failure(() => parseBaseUrl(value, 'THE_VARIABLE'));
        expect(caught.code).toBe(error);
        expect(caught.message).toContain('THE_VARIABLE');
        return;
      }
      const url = parseBaseUrl(value, 'THE_VARIABLE');
      expect(`${url.origin}${url.path}/chat/completions${url.query}`).toBe(target);
    },
  );

  it('keeps user info out of the address and as a Basic value', () => {
    const url = parseBaseUrl('https://user:p%40ss@h.example/v1', 'X');
    expect(url.origin).toBe('https://h.example');
    expect(Buffer.from(url.basicAuth ?? '', 'base64').toString()).toBe('user:p@ss');
  });
});
