import { type AgentEvalError, parseRubric } from '@tangle-network/agent-eval-contract';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type ModelServer,
  type Step,
  startModelServer,
} from '../../../../../tests/fakes/model-server.js';
import { systemClock, systemRandom } from '../../core/clock.js';
import { startDeadline } from '../../core/deadline.js';
import { DEFAULT_RETRY } from '../../core/retry.js';
import { Limiter } from '../../providers/limiter.js';
import { RemoteClient } from '../../providers/remote-client.js';
import { undiciTransport } from '../../providers/transport-undici.js';
import type { ModelClient } from '../../providers/types.js';
import type { Judgement, JudgeOptions } from '../judge.js';
import { hostedChecksVersion, judgeByAnswers } from './judge-hosted.js';

const AD = 'Is it an advertisement?';
const PLAIN = 'Is it plain?';
const rubric = parseRubric({
  name: 'r',
  description: 'd',
  systemPrompt: 'You know prose.',
  dimensions: [
    {
      id: 'voice',
      description: 'plain',
      max: 10,
      checks: [
        { question: AD, expect: 'no', weight: 3 },
        { question: PLAIN, expect: 'yes' },
      ],
    },
  ],
  failureModes: [
    { id: 'ad', description: 'advert', checks: [{ question: AD, expect: 'yes' }] },
    { id: 'unseen', description: 'not checked' },
  ],
});

const says = (content: string, more: Partial<Step> = {}): Step => ({ reply: { content }, ...more });
const answers = (q1: unknown, q2: unknown, more: Partial<Step> = {}) =>
  says(JSON.stringify({ rationale: 'Plain words.', answers: { q1, q2 } }), more);

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

async function judge(options: Partial<JudgeOptions> = {}, by = rubric): Promise<Judgement> {
  const deadline = startDeadline(systemClock, 20_000);
  const all = { content: 'a text', ...options };
  try {
    return await judgeByAnswers(by, all, { client, model: 'm' }, false, deadline);
  } finally {
    deadline.release();
  }
}

type Body = { messages: { content: string }[]; response_format: { json_schema: unknown } };
const bodies = async () => (await server.requests()).map(({ body }) => body as Body);

describe('checks that a hosted model answers', () => {
  it('are asked all at once and scored like those of a local model', async () => {
    const usage = { prompt_tokens: 50, completion_tokens: 9 };
    await server.script([answers('no', 'no', { usage })]);
    expect(await judge()).toMatchObject({
      composite: 0.75,
      dimensions: { voice: 7.5 },
      failureModes: [],
      notAssessed: ['failureModes'],
      scoreMode: 'checks',
      replyMode: 'json_schema',
      attempts: 1,
      usage: { inputTokens: 50, outputTokens: 9 },
      checks: {
        voice: [
          { question: AD, expect: 'no', p: 1 },
          { question: PLAIN, expect: 'yes', p: 0 },
        ],
      },
      warnings: [],
    });
  });

  it('find failure modes, and list the answers after the words of the model', async () => {
    await server.script([answers('Yes ', true)]);
    const { failureModes, rationale } = await judge();
    expect(failureModes).toEqual(['ad']);
    expect(rationale).toBe(
      `Plain words.\n\nvoice: "${AD}" (no expected): p = 0.00; "${PLAIN}" (yes expected): p = 1.00`,
    );
  });

  it('come with the questions and the schema of the reply', async () => {
    await server.script([answers('no', 'yes')]);
    await judge();
    const [body] = await bodies();
    const system = body?.messages[0]?.content ?? '';
    for (const part of ['You know prose.', `- "q1": ${AD}`, `- "q2": ${PLAIN}`]) {
      expect(system).toContain(part);
    }
    expect(body?.response_format.json_schema).toMatchObject({
      schema: { properties: { answers: { required: ['q1', 'q2'] } } },
    });
  });

  it.each([
    ['prose around it', says('So: {"answers": {"q1": "no", "q2": "yes"}} That is all.')],
    [
      'a draft in the reasoning',
      says(
        '<think>{"answers":{"q1":"yes","q2":"no"}}</think>{"rationale":"r","answers":{"q1":"no","q2":"yes"}}',
      ),
    ],
    ['a list of one', says('[{"rationale":"r","answers":{"q1":"no","q2":"yes"}}]')],
    ['single quotes', says("{'rationale': 'r', 'answers': {'q1': 'no', 'q2': 'yes'}}")],
    [
      'the schema filled in',
      says('{"type":"object","properties":{"rationale":"r","answers":{"q1":"no","q2":"yes"}}}'),
    ],
  ])('are read like scores: %s', async (_name, step) => {
    await server.script([step]);
    expect(await judge()).toMatchObject({ composite: 1, attempts: 1 });
  });

  it.each([
    ['no JSON', says('Not an advertisement.'), 'judge_malformed'],
    ['an answer missing', says('{"answers": {"q1": "no"}}'), 'judge_incomplete'],
    ['a shrug', answers('no', 'maybe'), 'judge_malformed'],
    ['a number', answers('no', 1), 'judge_malformed'],
    [
      'a second thought',
      says('{"answers": {"q1": "no", "q2": "yes"}} No, "answers": ["yes", "no"]'),
      'judge_malformed',
    ],
    ['null', answers(null, 'no'), 'judge_malformed'],
    ['cut off', says('{"rationale": "r', { finishReason: 'length' }), 'judge_truncated'],
  ])('%s: asked once more, then unscored', async (_name, bad, code) => {
    await server.script([bad, answers('no', 'yes')]);
    const mended = await judge();
    expect(mended).toMatchObject({ composite: 1, attempts: 2 });
    expect(mended.warnings).toEqual([`asked again: ${code} at first`]);
    await server.script([{ ...bad, times: 'forever' }]);
    const error = (await judge().catch((thrown: unknown) => thrown)) as AgentEvalError;
    expect(error).toMatchObject({ code, details: { attempts: 2 } });
  });

  it('that are refused are not asked for again', async () => {
    await server.script([{ reply: { message: { content: null, refusal: 'No.' } } }]);
    await expect(judge()).rejects.toMatchObject({ code: 'judge_refused' });
    expect((await server.stats()).calls).toBe(1);
  });

  it('are needed', async () => {
    const bare = parseRubric({
      name: 'bare',
      description: 'd',
      systemPrompt: 's',
      dimensions: [{ id: 'depth', description: 'It goes deep.' }],
    });
    await expect(judge({}, bare)).rejects.toMatchObject({
      code: 'rubric_needs_checks',
      message: expect.stringContaining('scoreMode "text"'),
    });
    const deadline = startDeadline(systemClock, 20_000);
    await server.script([says('{"answers": {"q1": "yes"}}')]);
    const broad = await judgeByAnswers(
      bare,
      { content: 'c' },
      { client, model: 'm' },
      true,
      deadline,
    );
    deadline.release();
    expect(broad).toMatchObject({
      composite: 1,
      warnings: [expect.stringContaining('one broad question')],
    });
  });

  it('have a judgeVersion of their own, known before the call', async () => {
    await server.script([], answers('no', 'yes'));
    const version = hostedChecksVersion(rubric, false, { content: 'other' });
    expect((await judge()).judgeVersion).toBe(version);
    expect((await judge({ temperature: 1 })).judgeVersion).not.toBe(version);
    const [dimension] = rubric.dimensions;
    const fewer = {
      ...rubric,
      dimensions: [{ ...dimension, checks: dimension?.checks?.slice(1) }],
    };
    expect(hostedChecksVersion(fewer as typeof rubric, false, { content: 'c' })).not.toBe(version);
  });
});
