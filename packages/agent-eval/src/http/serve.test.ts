import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import * as http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ModelServer, startModelServer } from '../../../../tests/fakes/model-server.js';

const PROGRAM = fileURLToPath(new URL('../../dist/engine/main.cjs', import.meta.url));
const KEY = 'sk-secret-0123456789';
const TOKEN = 'token-of-the-test';
const RUBRIC = {
  name: 'plain',
  description: 'One scale.',
  systemPrompt: 'You judge.',
  dimensions: [{ id: 'quality', description: 'How good it is.', min: 0, max: 10 }],
};
const JUDGE = { content: 'A text.', rubric: RUBRIC };

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface Engine {
  child: ChildProcess;
  ended: Promise<Ended>;
  /** The first line of stdout. */
  firstLine: Promise<string>;
}

interface Reply {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: { composite?: number; error?: { code: string; message: string } };
}

let provider: ModelServer;
const running: Engine[] = [];
beforeAll(async () => {
  if (!existsSync(PROGRAM)) throw new Error('The engine is not built: run pnpm build.');
  provider = await startModelServer();
});
afterAll(() => provider.close());
beforeEach(() => provider.reset());
afterEach(async () => {
  for (const { child } of running) child.kill('SIGKILL');
  await Promise.all(running.splice(0).map(({ ended }) => ended));
});

function start(args: string[] = [], env: Record<string, string> = {}): Engine {
  const child = spawn(process.execPath, [PROGRAM, 'serve', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      AGENT_EVAL_LLM_BASE_URL: provider.url,
      AGENT_EVAL_LLM_API_KEY: KEY,
      AGENT_EVAL_LLM_MODEL: 'm',
      ...env,
    },
  });
  const output = { stdout: '', stderr: '' };
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  const ended = once(child, 'close').then(([code]) => ({ code, ...output }));
  const firstLine = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output.stdout += text;
      const end = output.stdout.indexOf('\n');
      if (end >= 0) resolve(output.stdout.slice(0, end));
    });
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${output.stderr}`)));
  });
  firstLine.catch(() => {});
  const engine = { child, ended, firstLine };
  running.push(engine);
  return engine;
}

async function serve(args: string[] = [], env: Record<string, string> = {}) {
  const engine = start(['--port', '0', ...args], env);
  const line = await engine.firstLine;
  const port = Number(/:(\d+)$/.exec(line)?.[1]);
  return { ...engine, line, port };
}

/** One request over a socket of its own, with the headers exactly as given. */
function request(
  port: number,
  path: string,
  options: { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Reply> {
  const { body, headers, signal } = options;
  const text = body === undefined ? '' : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const outgoing = http.request(
      {
        host: '127.0.0.1',
        port,
        path,
        agent: false,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          ...(body !== undefined && {
            'content-type': 'application/json',
            'content-length': String(Buffer.byteLength(text)),
          }),
          ...headers,
        },
        ...(signal !== undefined && { signal }),
      },
      async (response) => {
        try {
          let received = '';
          for await (const chunk of response.setEncoding('utf8')) received += chunk;
          const { statusCode: status = 0, headers: answered } = response;
          resolve({ status, headers: answered, body: JSON.parse(received) });
        } catch (error) {
          reject(error);
        }
      },
    );
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}

const judge = (
  port: number,
  options: { headers?: Record<string, string>; signal?: AbortSignal } = {},
) => request(port, '/v1/judge', { body: JUDGE, ...options });

/** Patient, for machines with much else to do. */
const eventually = <T>(check: () => T) => vi.waitFor(check, { timeout: 10_000, interval: 10 });

const refusing = (port: number) =>
  eventually(async () => expect(await request(port, '/healthz').catch(() => null)).toBeNull());

const providerCalled = () => eventually(async () => expect((await provider.stats()).calls).toBe(1));

const outcomes = async () => (await provider.requests()).map(({ outcome }) => outcome);

describe('starting', () => {
  it('takes a free port with --port 0, says where, and judges', async () => {
    const { port, line, child, ended } = await serve();
    expect(line).toBe(`agent-eval listening on http://127.0.0.1:${port}`);
    expect((await request(port, '/healthz')).body).toMatchObject({ status: 'ok' });
    const { status, body } = await judge(port);
    expect(status).toBe(200);
    expect(body.composite).toBeCloseTo(0.8, 9);
    child.kill('SIGTERM');
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    expect(stdout).toBe(`${line}\n`);
  });

  it('names another agent-eval on a taken port, in one line', async () => {
    const { port } = await serve();
    const { code, stdout, stderr } = await start(['--port', String(port)]).ended;
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toMatch(
      new RegExp(
        `^[^\\n]*Port ${port} is taken by another agent-eval server \\(version [^\\n]*\\n$`,
      ),
    );
  });

  it('does not name what is no agent-eval', async () => {
    const { port } = new URL(provider.url);
    const { code, stderr } = await start(['--port', port]).ended;
    expect(code).toBe(1);
    expect(stderr).toContain(`Port ${port} is taken by another program: `);
  });

  it('needs a token off loopback', async () => {
    const { code, stdout, stderr } = await start(['--port', '0', '--host', '0.0.0.0']).ended;
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain('AGENT_EVAL_TOKEN');
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});

describe('stopping', () => {
  it('finishes what is in flight and takes nothing new', async () => {
    await provider.script([{ together: 2, times: 2 }]);
    const { port, child, ended } = await serve();
    const inFlight = judge(port);
    await providerCalled();
    child.kill('SIGTERM');
    await refusing(port);
    await fetch(`${provider.url}/chat/completions`, { method: 'POST', body: '{}' });
    const { status, body } = await inFlight;
    expect(status).toBe(200);
    expect(body.composite).toBeCloseTo(0.8, 9);
    expect((await ended).code).toBe(0);
    expect((await provider.stats()).calls).toBe(2);
  });

  it('does not wait for connections that only stay open', async () => {
    const { port, child, ended } = await serve();
    const agent = new http.Agent({ keepAlive: true });
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      http.get({ host: '127.0.0.1', port, path: '/healthz', agent }, resolve).on('error', reject);
    });
    response.resume();
    await once(response, 'end');
    const started = performance.now();
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
    expect(performance.now() - started).toBeLessThan(5000);
    agent.destroy();
  });

  it('waits no longer than --drain-ms, and lets go of the provider', async () => {
    await provider.script([{ delayMs: 60_000 }]);
    const { port, child, ended } = await serve(['--drain-ms', '200']);
    const inFlight = judge(port).catch((error: unknown) => error);
    await providerCalled();
    const started = performance.now();
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
    expect(performance.now() - started).toBeLessThan(8000);
    expect(await inFlight).toBeInstanceOf(Error);
    await eventually(async () => expect(await outcomes()).toEqual(['client-gone']));
  });

  it('at a second signal ends at once', async () => {
    await provider.script([{ delayMs: 60_000 }]);
    const { port, child, ended } = await serve();
    const inFlight = judge(port).catch((error: unknown) => error);
    await providerCalled();
    child.kill('SIGTERM');
    await refusing(port);
    child.kill('SIGTERM');
    expect((await ended).code).toBe(143);
    expect(await inFlight).toBeInstanceOf(Error);
  });
});

describe('a call', () => {
  it('is cancelled at the provider when its client goes away', async () => {
    await provider.script([{ delayMs: 60_000 }]);
    const { port } = await serve();
    const leaving = new AbortController();
    const call = judge(port, { signal: leaving.signal }).catch((error: unknown) => error);
    await providerCalled();
    leaving.abort();
    expect(await call).toBeInstanceOf(Error);
    await eventually(async () => expect(await outcomes()).toEqual(['client-gone']));
    expect((await judge(port)).status).toBe(200);
  });

  it('ends at its own deadline, and so does the request to the provider', async () => {
    await provider.script([{}, { delayMs: 60_000 }]);
    const { port } = await serve();
    // The first call loads what judges; that must not be what takes the second one's time.
    expect((await judge(port)).status).toBe(200);
    const reply = await request(port, '/v1/judge', { body: { ...JUDGE, timeoutMs: 1000 } });
    expect(reply.status).toBe(504);
    expect(reply.body.error?.code).toBe('timeout');
    await eventually(async () => expect(await outcomes()).toEqual(['answered', 'client-gone']));
  });

  it('never shows the key, whatever the provider says', async () => {
    const json = { error: { message: `${KEY} is not welcome here` } };
    await provider.script([{ status: 401, reply: { json } }]);
    const { port, child, ended } = await serve(['--debug']);
    const { status, body } = await judge(port);
    expect(status).toBe(502);
    expect(body.error).toMatchObject({ code: 'provider_auth' });
    expect(body.error?.message).toContain('is not welcome here');
    child.kill('SIGTERM');
    const { stdout, stderr } = await ended;
    expect(JSON.stringify([body, stdout, stderr])).not.toContain(KEY);
  });

  it('is one of 64 at once', async () => {
    await provider.script([], { together: 64 });
    const { port } = await serve();
    const replies = await Promise.all(Array.from({ length: 64 }, () => judge(port)));
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 64 }, () => 200));
    expect((await provider.stats()).connections).toBe(64);
  });

  it('may not be larger than the limit', async () => {
    const { port } = await serve(['--body-limit', '2000']);
    const body = { ...JUDGE, content: 'x'.repeat(3000) };
    const reply = await request(port, '/v1/judge', { body });
    expect(reply.status).toBe(413);
    expect((await judge(port)).status).toBe(200);
  });
});

describe('who may call', () => {
  it('no page of another site, over a real socket', async () => {
    const { port } = await serve();
    const status = async (headers: Record<string, string>) => {
      const reply = await judge(port, { headers });
      expect(reply.headers['access-control-allow-origin']).toBeUndefined();
      return reply.status;
    };
    const own = `127.0.0.1:${port}`;
    expect(await status({ host: 'evil.example' })).toBe(403);
    expect(await status({ host: `evil.example:${port}` })).toBe(403);
    expect(await status({ origin: 'https://evil.example' })).toBe(403);
    expect(await status({ origin: 'null' })).toBe(403);
    expect(await status({ origin: 'http://127.0.0.1:1' })).toBe(403);
    expect(await status({ 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect((await provider.stats()).calls).toBe(0);
    expect(await status({ host: own, origin: `http://${own}` })).toBe(200);
    expect(await status({ host: `localhost:${port}` })).toBe(200);
    expect((await provider.stats()).calls).toBe(2);
  });

  it('off loopback only those with the token', async () => {
    const { port } = await serve(['--host', '0.0.0.0'], { AGENT_EVAL_TOKEN: TOKEN });
    const refused = await judge(port);
    expect(refused.status).toBe(401);
    expect(refused.headers['www-authenticate']).toBe('Bearer');
    expect((await judge(port, { headers: { authorization: 'Bearer wrong' } })).status).toBe(401);
    expect((await provider.stats()).calls).toBe(0);
    for (const path of ['/healthz', '/v1/version', '/openapi.json']) {
      expect((await request(port, path)).status).toBe(200);
    }
    expect((await judge(port, { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(200);
  });

  it('by a token from a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'agent-eval-'));
    try {
      const file = join(folder, 'token');
      writeFileSync(file, `${TOKEN}\n`);
      const { port } = await serve(['--token-file', file]);
      expect((await judge(port)).status).toBe(401);
      const authorization = `bearer ${TOKEN}`;
      expect((await judge(port, { headers: { authorization } })).status).toBe(200);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
