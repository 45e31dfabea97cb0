import { type AgentEvalError, parseRubric } from '@tangle-network/agent-eval-contract';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type ModelServer,
  type Step,
  startModelServer,
} from '../../../../tests/fakes/model-server.js';
import { systemClock, systemRandom } from '../core/clock.js';
import { startDeadline } from '../core/deadline.js';
import { DEFAULT_RETRY } from '../core/retry.js';
import { Limiter } from '../providers/limiter.js';
import { RemoteClient } from '../providers/remote-client.js';
import { undiciTransport } from '../providers/transport-undici.js';
import type { ModelClient } from '../providers/types.js';
import { type Judgement, type JudgeOptions, judgeByText } from './judge.js';

const rubric = parseRubric({
  name: 'r',
  description: 'd',
  systemPrompt: 's',
  dimensions: [{ id: 'quality', description: 'd' }],
});
const VERDICT = { rationale: 'because', dimensions: { quality: 0.2 }, failureModes: [], wins: [] };
const says = (content: string, more: Partial<Step> = {}): Step => ({ reply: { content }, ...more });
const good = says(JSON.stringify(VERDICT));
const scored = (value: unknown) =>
  says(JSON.stringify({ ...VERDICT, dimensions: { quality: value } }));

let server: ModelServer;
let client: ModelClient;
beforeAll(async () => {
  server = await startModelServer();
  client = new RemoteClient({
    judging: {
      path: '/v1/chat/completions',
      displayUrl: `${server.url}/chat/completions`,
      headers: {},
    },
    transport: undiciTransport({ origin: server.origin, connections: 4, proxy: null }),
    limiter: new Limiter(4, 10, systemClock),
    retry: { ...DEFAULT_RETRY, attempts: 1 },
    clock: systemClock,
    random: systemRandom,
    redact: (text) => text,
  });
});
afterAll(async () => {
  await client.close();
  await server.close();
});
beforeEach(() => server.reset());

async function judge(options: Partial<JudgeOptions> = {}): Promise<Judgement> {
  const deadline = startDeadline(systemClock, 20_000);
  try {
    return await judgeByText(rubric, { content: 'a text', ...options }, client, 'm', deadline);
  } finally {
    deadline.release();
  }
}

async function bodies(): Promise<{ messages: { role: string; content: string }[] }[]> {
  const requests = await server.requests();
  return requests.map(({ body }) => body as { messages: { role: string; content: string }[] });
}

describe('a reply that is no verdict', () => {
  const usage = { prompt_tokens: 100, completion_tokens: 10 };

  it.each([
    ['malformed', says('rather good', { usage }), 'judge_malformed'],
    ['empty', says('', { usage }), 'judge_malformed'],
    ['without the dimension', says('{"rationale": "r"}', { usage }), 'judge_incomplete'],
    ['out of range', { ...scored(7), usage }, 'judge_out_of_range'],
    ['a fraction', { ...scored('4/5'), usage }, 'judge_malformed'],
  ])('%s is asked for once more, with what is wrong', async (_name, bad, code) => {
    await server.script([bad, { ...good, usage }]);
    const judgement = await judge();
    expect(judgement).toMatchObject({
      composite: 0.2,
      attempts: 2,
      usage: { inputTokens: 200, outputTokens: 20 },
    });
    expect(judgement.warnings).toEqual([expect.stringContaining(code)]);
    const [, again] = await bodies();
    expect(again?.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'user',
    ]);
    expect(again?.messages.at(-1)?.content).toContain('Answer again');
  });

  it.each([
    ['malformed', says('rather good'), 'judge_malformed'],
    ['without the dimension', says('{"rationale": "r"}'), 'judge_incomplete'],
    ['out of range', scored(-3), 'judge_out_of_range'],
    ['cut off', says('{"rationale": "r', { finishReason: 'length' }), 'judge_truncated'],
  ])('%s twice is unscored, with what both took', async (_name, bad, code) => {
    await server.script([{ ...bad, usage, times: 'forever' }]);
    const error = (await judge().catch((thrown: unknown) => thrown)) as AgentEvalError;
    expect(error.code).toBe(code);
    expect(error.details).toMatchObject({ attempts: 2, usage: { inputTokens: 200 } });
    expect((await server.stats()).calls).toBe(2);
  });

  it('that was cut off gets twice the tokens', async () => {
    await server.script([says('{"rationale": "r', { finishReason: 'length' }), good]);
    expect((await judge({ maxTokens: 50 })).composite).toBe(0.2);
    const [first, again] = await bodies();
    expect(first).toMatchObject({ max_tokens: 50 });
    expect(again).toMatchObject({ max_tokens: 100 });
    expect(again?.messages).toHaveLength(2);
  });

  it('that is a refusal is final', async () => {
    await server.script([
      { reply: { message: { content: null, refusal: 'No.' } }, times: 'forever' },
    ]);
    await expect(judge()).rejects.toMatchObject({ code: 'judge_refused' });
    expect((await server.stats()).calls).toBe(1);
  });

  it('costs nothing where the first one is a verdict', async () => {
    await server.script([{ ...good, times: 'forever' }]);
    expect(await judge()).toMatchObject({ attempts: 1, warnings: [] });
    expect((await server.stats()).calls).toBe(1);
  });
});
