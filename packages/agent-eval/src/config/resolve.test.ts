import { describe, expect, it } from 'vitest';
import { OPTION_ROWS } from './options.js';
import { resolveSettings } from './resolve.js';

describe('resolveSettings', () => {
  it('prefers the argument, then the environment, then the default', () => {
    const env = { AGENT_EVAL_PORT: '6000' };
    expect(resolveSettings(env, { port: '7000' }).settings.port).toBe(7000);
    expect(resolveSettings(env).settings.port).toBe(6000);
    expect(resolveSettings({}).settings.port).toBe(5005);
    expect(resolveSettings(env, { port: 7000 }).sources.port).toBe('flag');
    expect(resolveSettings(env).sources.port).toBe('AGENT_EVAL_PORT');
    expect(resolveSettings({}).sources.port).toBe('default');
  });

  it.each([
    ['AGENT_EVAL_PORT', 'abc'],
    ['AGENT_EVAL_PORT', '70000'],
    ['AGENT_EVAL_PORT', '5.5'],
    ['AGENT_EVAL_TIMEOUT_MS', '0'],
    ['AGENT_EVAL_DEBUG', 'maybe'],
  ])('refuses %s=%s by name', (name, value) => {
    expect(() => resolveSettings({ [name]: value })).toThrow(name);
  });

  it('reads lists, booleans and quoted values', () => {
    const { settings } = resolveSettings({
      AGENT_EVAL_ALLOWED_HOSTS: 'a.example, b.example',
      AGENT_EVAL_DEBUG: 'Yes',
      AGENT_EVAL_LLM_MODEL: ' "m" ',
    });
    expect(settings.allowedHosts).toEqual(['a.example', 'b.example']);
    expect(settings.debug).toBe(true);
    expect(settings.model).toBe('m');
  });

  it('is frozen', () => {
    expect(Object.isFrozen(resolveSettings({}).settings)).toBe(true);
  });
});

describe('the option table', () => {
  it('names each flag and each variable once', () => {
    const flags = OPTION_ROWS.flatMap((row) => (row.flag === null ? [] : [row.flag.split(' ')[0]]));
    const variables = OPTION_ROWS.flatMap((row) => row.env);
    expect(new Set(flags).size).toBe(flags.length);
    expect(new Set(variables).size).toBe(variables.length);
  });

  it('never takes a secret from the command line', () => {
    for (const row of OPTION_ROWS) if (row.secret === true) expect(row.flag).toBeNull();
  });
});
