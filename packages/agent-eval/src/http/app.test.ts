import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../config/resolve.js';
import { composeEngine } from '../entries/compose.js';
import { type AppOptions, createApp } from './app.js';

async function app(overrides: Partial<AppOptions> = {}) {
  const engine = await composeEngine({ env: {}, resolved: resolveSettings({}), oneShot: false });
  return createApp(engine.deps, {
    token: null,
    loopback: true,
    allowedHosts: [],
    bodyLimitBytes: 1000,
    allowRequestProvider: false,
    concurrency: 8,
    accepting: () => true,
    onFault: () => {},
    ...overrides,
  });
}

const LOCAL = { host: '127.0.0.1:5005' };

async function get(
  path: string,
  headers: Record<string, string> = {},
  options?: Partial<AppOptions>,
) {
  const response = await (await app(options)).request(path, { headers: { ...LOCAL, ...headers } });
  return { response, body: (await response.json()) as { error?: { code: string } } };
}

describe('paths', () => {
  it.each(['/v1/version', '/v1/rubrics', '/healthz', '/openapi.json'])(
    'serves %s',
    async (path) => {
      const { response } = await get(path);
      expect(response.status).toBe(200);
      expect(response.headers.get('x-request-id')).toMatch(/^[\w-]+$/);
      expect(response.headers.get('access-control-allow-origin')).toBeNull();
    },
  );

  it('tells a missing path from a wrong method', async () => {
    expect((await get('/nope')).body.error?.code).toBe('not_found');
    const { response, body } = await get('/v1/judge');
    expect(body.error?.code).toBe('method_not_allowed');
    expect(response.headers.get('allow')).toBe('POST');
  });

  it('echoes a request id, but not just anything', async () => {
    const echoed = await get('/healthz', { 'x-request-id': 'abc-1' });
    expect(echoed.response.headers.get('x-request-id')).toBe('abc-1');
    const strange = await get('/healthz', { 'x-request-id': 'a b' });
    expect(strange.response.headers.get('x-request-id')).not.toBe('a b');
  });
});

describe('pages of other sites', () => {
  it.each([
    ['foreign host', { host: 'judge.evil.example:5005' }],
    ['host that begins like ours', { host: '127.0.0.1.evil.example' }],
    ['foreign origin', { origin: 'https://evil.example' }],
    ['null origin', { origin: 'null' }],
    ['cross-site fetch', { 'sec-fetch-site': 'cross-site' }],
    ['same-site fetch', { 'sec-fetch-site': 'same-site' }],
  ])('%s is refused', async (_name, headers) => {
    const { response, body } = await get('/v1/version', headers as Record<string, string>);
    expect(response.status).toBe(403);
    expect(body.error?.code).toBe('forbidden_origin');
  });

  it.each(['localhost.', 'LOCALHOST:5005', '127.0.0.1', '127.9.9.9:1', '[::1]:5005', '[::1]'])(
    'our own name %s is served',
    async (host) => {
      expect((await get('/v1/version', { host })).response.status).toBe(200);
    },
  );

  it('a named host is served, and our own origin', async () => {
    const options = { allowedHosts: ['judge.internal'] };
    expect((await get('/v1/version', { host: 'judge.internal:80' }, options)).response.status).toBe(
      200,
    );
    const origin = { origin: 'http://127.0.0.1:5005', 'sec-fetch-site': 'same-origin' };
    expect((await get('/v1/version', origin)).response.status).toBe(200);
  });

  it('a preflight gets no grant', async () => {
    const response = await (await app()).request('/v1/judge', {
      method: 'OPTIONS',
      headers: {
        ...LOCAL,
        origin: 'https://evil.example',
        'access-control-request-method': 'POST',
      },
    });
    expect(response.status).toBe(403);
    expect(
      [...response.headers.keys()].filter((name) => name.startsWith('access-control')),
    ).toEqual([]);
  });
});

describe('the token', () => {
  const options = { token: 'secret-token' };

  it('is asked for where the method table says so', async () => {
    expect((await get('/v1/version', {}, options)).response.status).toBe(200);
    expect((await get('/healthz', {}, options)).response.status).toBe(200);
    const { response, body } = await get('/v1/rubrics', {}, options);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(body.error?.code).toBe('unauthorized');
  });

  it.each([
    ['Bearer secret-token', 200],
    ['bearer  secret-token', 200],
    ['Bearer secret-toke', 401],
    ['Bearer secret-token2', 401],
    ['Basic secret-token', 401],
    ['secret-token', 401],
  ])('%s gives %i', async (authorization, status) => {
    expect((await get('/v1/rubrics', { authorization }, options)).response.status).toBe(status);
  });

  it('is checked before the body is read', async () => {
    const body = new ReadableStream({
      pull() {
        throw new Error('the body was read');
      },
    });
    const response = await (await app(options)).request('/v1/judge', {
      method: 'POST',
      headers: { ...LOCAL, 'content-type': 'application/json' },
      body,
      duplex: 'half',
    } as RequestInit);
    expect(response.status).toBe(401);
  });
});

describe('bodies', () => {
  async function post(body: string, headers: Record<string, string> = {}) {
    const response = await (await app()).request('/v1/judge', {
      method: 'POST',
      headers: { ...LOCAL, 'content-type': 'application/json', ...headers },
      body,
    });
    return {
      status: response.status,
      error: ((await response.json()) as { error: { code: string } }).error,
    };
  }

  it.each([
    ['{', 400, 'validation_error', {}],
    ['{}', 400, 'validation_error', {}],
    ['[]', 400, 'validation_error', {}],
    ['{}', 415, 'unsupported_media_type', { 'content-type': 'text/plain' }],
    [`{"a":"${'x'.repeat(1000)}"}`, 413, 'payload_too_large', {}],
    [
      '{"rubricName":"x","content":"x","provider":{"baseUrl":"http://127.0.0.1"}}',
      400,
      'validation_error',
      {},
    ],
    ['{"rubricName":"x","content":"x"}', 404, 'rubric_not_found', {}],
    ['{"rubricName":"x","content":"x","model":"local/../x"}', 400, 'validation_error', {}],
    ['{"rubricName":"x","content":"x","model":"local/x.gguf"}', 400, 'validation_error', {}],
    ['{}', 415, 'unsupported_media_type', { 'content-encoding': 'gzip' }],
    ['{}', 415, 'unsupported_media_type', { 'content-type': 'application/json; charset=utf-16' }],
  ])('%s', async (body, status, code, headers) => {
    const answer = await post(body, headers as Record<string, string>);
    expect(answer.status).toBe(status);
    expect(answer.error.code).toBe(code);
  });

  it('says which setting is missing without a model', async () => {
    const rubric = {
      name: 'q',
      description: 'd',
      systemPrompt: 's',
      dimensions: [{ id: 'quality', description: 'good' }],
    };
    const answer = await post(JSON.stringify({ rubric, content: 'x' }));
    expect(answer.status).toBe(503);
    expect(answer.error.code).toBe('llm_not_configured');
  });

  it('refuses new work while it stops', async () => {
    const { response, body } = await get('/v1/version', {}, { accepting: () => false });
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(response.headers.get('connection')).toBe('close');
    expect(body.error?.code).toBe('service_unavailable');
  });
});
