import { describe, expect, it } from 'vitest';
import { childEnvironment, proxySettings } from './env.js';
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

describe('proxy variables', () => {
  it('are read in either case, with or without a scheme', () => {
    expect(proxySettings({ HTTPS_PROXY: 'http://p.example:1', no_proxy: '.corp' })).toEqual({
      httpProxy: undefined,
      httpsProxy: 'http://p.example:1',
      noProxy: '.corp',
    });
    expect(proxySettings({ http_proxy: 'p.example:8080' }).httpProxy).toBe('http://p.example:8080');
  });

  it('are refused by name when they are no address', () => {
    expect(() => proxySettings({ HTTP_PROXY: 'socks5://p.example:1' })).toThrow('HTTP_PROXY');
  });
});

describe('the environment of a package client', () => {
  it('has its own settings, and nothing of ours and no other keys', () => {
    const env = {
      PATH: '/bin',
      PIP_INDEX_URL: 'https://u:pw@mirror.example',
      NPM_TOKEN: 't',
      UV_INDEX_MIRROR_PASSWORD: 'pw',
      AGENT_EVAL_LLM_BASE_URL: 'https://u:pw@h.example',
      OPENAI_API_KEY: 'k',
      AWS_SECRET_ACCESS_KEY: 'k',
      GH_PAT: 'k',
    };
    expect(Object.keys(childEnvironment(env)).sort()).toEqual([
      'NPM_TOKEN',
      'PATH',
      'PIP_INDEX_URL',
      'UV_INDEX_MIRROR_PASSWORD',
    ]);
  });
});

describe('the option table', () => {
  it('names each flag and each variable once', () => {
    const flags = OPTION_ROWS.flatMap((row) => (row.flag === null ? [] : [row.flag.split(' ')[0]]));
    const variables = OPTION_ROWS.flatMap((row) => row.env);
    expect(new Set(flags).size).toBe(flags.length);
    expect(new Set(variables).size).toBe(variables.length);
  });

  it('takes no secret from the command line but the token of the server', () => {
    const flags = OPTION_ROWS.filter((row) => row.secret === true && row.flag !== null);
    expect(flags.map((row) => row.key)).toEqual(['token']);
  });
});
