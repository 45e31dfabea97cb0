import { once } from 'node:events';
import * as http from 'node:http';
import { batchOutcome } from '@tangle-network/agent-eval-contract';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ModelServer, startModelServer } from '../../../../tests/fakes/model-server.js';
import { resolveSettings } from '../config/resolve.js';
import { systemClock } from '../core/clock.js';
import { composeEngine, type Engine } from '../entries/compose.js';
import { createApp } from './app.js';
import { type Listening, listen } from './listen.js';

const RUBRIC = {
  name: 'plain',
  description: 'One scale.',
  systemPrompt: 'You judge.',
  dimensions: [{ id: 'quality', description: 'How good it is.' }],
};
const LINE_LIMIT = 4000;
const CONCURRENCY = 8;

interface Outcome {
  index: number;
  id?: string | number;
  outcome: 'scored' | 'unscored';
  result?: { composite: number };
  error?: { code: string };
}

let provider: ModelServer;
let engine: Engine;
let server: Listening;
let accepting = true;
beforeAll(async () => {
  provider = await startModelServer();
  const env = {
    AGENT_EVAL_LLM_BASE_URL: provider.url,
    AGENT_EVAL_LLM_MODEL: 'm',
    AGENT_EVAL_CONCURRENCY: String(CONCURRENCY),
  };
  engine = await composeEngine({ env, resolved: resolveSettings(env), oneShot: false });
  const app = createApp(engine.deps, {
    token: 'secret-token',
    loopback: true,
    allowedHosts: [],
    bodyLimitBytes: LINE_LIMIT,
    allowRequestProvider: false,
    concurrency: CONCURRENCY,
    accepting: () => accepting,
    onFault: () => {},
  });
  server = await listen(app, { host: '127.0.0.1', port: 0, clock: systemClock });
});
afterAll(async () => {
  await server.close(0);
  await engine.close();
  await provider.close();
});
beforeEach(async () => {
  accepting = true;
  await provider.reset();
});

function open(headers: Record<string, string> = {}): http.ClientRequest {
  return http.request(`${server.url}/v1/judge/batch`, {
    method: 'POST',
    agent: false,
    headers: {
      'content-type': 'application/x-ndjson',
      authorization: 'Bearer secret-token',
      ...headers,
    },
  });
}

async function answered(outgoing: http.ClientRequest): Promise<{ status: number; text: string }> {
  const [response] = (await once(outgoing, 'response')) as [http.IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode ?? 0, text };
}

async function batch(lines: readonly string[]): Promise<Outcome[]> {
  const outgoing = open();
  const answer = answered(outgoing);
  outgoing.end(lines.join('\n'));
  const { status, text } = await answer;
  expect(status).toBe(200);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Outcome);
}

const line = (content: string, more: object = {}): string =>
  JSON.stringify({ rubric: RUBRIC, content, ...more });

const verdict = (quality: number) => ({ rationale: 'r', dimensions: { quality } });

describe('a batch', () => {
  it('answers every line once, in any order, each by its index and id', async () => {
    await provider.script([
      { match: { bodyContains: 'slow text' }, delayMs: 300, reply: { verdict: verdict(0.1) } },
      { times: 'forever', reply: { verdict: verdict(0.9) } },
    ]);
    const lines = [line('slow text', { id: 'first' }), '', '  ', line('b', { id: 7 }), line('c')];
    const outcomes = await batch(lines);
    // The slow one is last; which of the others comes first is the endpoint's matter.
    expect(outcomes.at(-1)?.index).toBe(0);
    const byIndex = outcomes.toSorted((a, b) => a.index - b.index);
    expect(byIndex.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(byIndex.map(({ id }) => id)).toEqual(['first', 7, undefined]);
    expect(byIndex.map(({ result }) => result?.composite)).toEqual([0.1, 0.9, 0.9]);
    for (const outcome of outcomes) expect(batchOutcome.safeParse(outcome).success).toBe(true);
  });

  it('costs a bad line only that line', async () => {
    await provider.script([{ times: 'forever', reply: { verdict: verdict(0.5) } }]);
    const outcomes = await batch([
      'not JSON',
      '[1]',
      line('x', { id: { no: 1 } }),
      line('x', { unknown: 1 }),
      JSON.stringify({ content: 'x', id: 'no rubric' }),
      line('y'.repeat(LINE_LIMIT)),
      line('x', { rubric: undefined, rubricName: 'nobody-knows' }),
      line('x', { provider: { name: 'openai' } }),
      line('fine'),
    ]);
    const codes = outcomes
      .toSorted((a, b) => a.index - b.index)
      .map(({ outcome, error }) => error?.code ?? outcome);
    expect(codes).toEqual([
      ...Array.from({ length: 5 }, () => 'validation_error'),
      'payload_too_large',
      'rubric_not_found',
      'validation_error',
      'scored',
    ]);
    expect(outcomes.find(({ index }) => index === 4)?.id).toBe('no rubric');
  });

  it('gives an outcome for every line when the provider fails', async () => {
    await provider.script([{ times: 'forever', status: 401 }]);
    const outcomes = await batch(Array.from({ length: 30 }, (_, i) => line(`text ${i}`)));
    expect(new Set(outcomes.map(({ index }) => index)).size).toBe(30);
    expect(new Set(outcomes.map(({ error }) => error?.code))).toEqual(new Set(['provider_auth']));
  });

  it('keeps the deadline of each line', async () => {
    await provider.script([
      { match: { bodyContains: 'hangs' }, delayMs: 60_000 },
      { times: 'forever', reply: { verdict: verdict(0.5) } },
    ]);
    const outcomes = await batch([line('hangs', { timeoutMs: 200 }), line('fine')]);
    expect(outcomes.map(({ error }) => error?.code)).toEqual([undefined, 'timeout']);
  });

  it('answers lines while others are still to be sent', async () => {
    await provider.script([{ times: 'forever', reply: { verdict: verdict(0.5) } }]);
    const outgoing = open();
    outgoing.write(`${line('early')}\n`);
    const [response] = (await once(outgoing, 'response')) as [http.IncomingMessage];
    const [chunk] = await once(response, 'data');
    expect(JSON.parse(String(chunk))).toMatchObject({ index: 0, outcome: 'scored' });
    outgoing.end(line('late'));
    const [second] = await once(response, 'data');
    expect(JSON.parse(String(second))).toMatchObject({ index: 1 });
  });

  it('cancels what is left when its caller leaves', async () => {
    await provider.script([{ times: 'forever', delayMs: 60_000 }]);
    const outgoing = open();
    outgoing.on('error', () => {});
    outgoing.write(`${line('a')}\n${line('b')}\n`);
    await vi.waitFor(async () => expect((await provider.stats()).calls).toBe(2), 10_000);
    outgoing.destroy();
    const left = async () => (await provider.requests()).map(({ outcome }) => outcome);
    await vi.waitFor(
      async () => expect(await left()).toEqual(['client-gone', 'client-gone']),
      10_000,
    );
  });

  it('reads no further than it may while its caller does not read', async () => {
    await provider.script([
      { times: 'forever', reply: { verdict: { ...verdict(0.5), rationale: 'r'.repeat(100_000) } } },
    ]);
    const outgoing = open();
    const sent = 2000;
    for (let i = 0; i < sent; i += 1) outgoing.write(`${line('x'.repeat(1000))}\n`);
    outgoing.end();
    const [response] = (await once(outgoing, 'response')) as [http.IncomingMessage];
    let before = -1;
    await vi.waitFor(
      async () => {
        const { calls } = await provider.stats();
        const still = calls > 0 && calls === before;
        before = calls;
        expect(still).toBe(true);
      },
      { timeout: 20_000, interval: 500 },
    );
    expect(before).toBeLessThan(sent / 2);
    response.destroy();
  });

  it('refuses lines that have not begun once the server stops', async () => {
    await provider.script([{ delayMs: 300, reply: { verdict: verdict(0.5) } }]);
    const outgoing = open();
    const answer = answered(outgoing);
    outgoing.write(`${line('begun')}\n`);
    await vi.waitFor(async () => expect((await provider.stats()).calls).toBe(1), 10_000);
    accepting = false;
    outgoing.end(line('late'));
    const lines = (await answer).text
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text) as Outcome);
    const codes = lines.toSorted((a, b) => a.index - b.index).map(({ error }) => error?.code);
    expect(codes).toEqual([undefined, 'service_unavailable']);
  });

  it.each([
    [401, { authorization: 'Bearer wrong' }],
    [403, { origin: 'http://elsewhere.example' }],
    [415, { 'content-type': 'application/json' }],
  ])('is refused with %i before its body is read', async (status, headers) => {
    const outgoing = open(headers);
    const answer = answered(outgoing);
    outgoing.end(line('x'));
    expect((await answer).status).toBe(status);
    expect((await provider.stats()).calls).toBe(0);
  });
});
