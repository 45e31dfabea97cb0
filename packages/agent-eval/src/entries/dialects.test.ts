import type { AgentEvalError, JudgeResult, RubricInput } from '@tangle-network/agent-eval-contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type ModelServer,
  type RecordedRequest,
  type Step,
  startModelServer,
} from '../../../../tests/fakes/model-server.js';
import { type AgentEval, createAgentEval } from './library.js';

const KEY = 'k-canary-0123456789abcdef';
const RUBRIC: RubricInput = {
  name: 'plain',
  description: 'Judges plainness.',
  systemPrompt: 'Judge how plain the text is.',
  dimensions: [{ id: 'quality', description: 'The text is plain.', min: 0, max: 1 }],
};

/** Keys and places from the body down to a value. */
type Way = readonly (string | number)[];

function at(body: unknown, way: Way): unknown {
  return way.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined,
    body,
  );
}

interface Row {
  provider: string;
  model: string;
  /** Variables with the base URL and the key, beside those that every test has. */
  env: (origin: string) => Record<string, string>;
  path: string;
  /** Header that holds the key. */
  header: [name: string, value: string];
  /** Where the schema and the two parts of the prompt stand. */
  schema: Way;
  system: Way;
  user: Way;
  /** Parameters as sent when temperature 0.5, seed 7 and maxTokens 300 are asked for. */
  params: object;
  dropped: string[];
  /** How refusals of a schema, a tool and JSON are worded, with what a request that earns them holds. */
  refusals: [holds: string, message: string][];
}

const CHAT = {
  path: '/v1/chat/completions',
  header: ['authorization', `Bearer ${KEY}`],
  schema: ['response_format', 'json_schema', 'schema'],
  system: ['messages', 0, 'content'],
  user: ['messages', 1, 'content'],
  params: { model: 'm1', temperature: 0.5, seed: 7, max_tokens: 300 },
  dropped: [],
  refusals: [
    [
      '"json_schema"',
      "Invalid parameter: 'response_format' of type 'json_schema' is not supported",
    ],
    ['"tools"', 'tools are not supported with this model'],
    ['"json_object"', "'json_object' is not supported"],
  ],
} satisfies Partial<Row>;

const ROWS: Row[] = [
  {
    provider: 'anthropic',
    model: 'anthropic/m1',
    env: (origin) => ({ ANTHROPIC_BASE_URL: origin, ANTHROPIC_API_KEY: KEY }),
    path: '/v1/messages',
    header: ['x-api-key', KEY],
    schema: ['output_config', 'format', 'schema'],
    system: ['system'],
    user: ['messages', 0, 'content'],
    params: { model: 'm1', temperature: 0.5, max_tokens: 300 },
    dropped: ['seed'],
    refusals: [
      ['"output_config"', 'output_config: Extra inputs are not permitted'],
      ['"tools"', 'Thinking may not be enabled when tool_choice forces tool use: unsupported.'],
    ],
  },
  {
    provider: 'gemini',
    model: 'gemini/m1',
    env: (origin) => ({ GEMINI_BASE_URL: origin, GOOGLE_API_KEY: KEY }),
    path: '/v1beta/models/m1:generateContent',
    header: ['x-goog-api-key', KEY],
    schema: ['generationConfig', 'responseJsonSchema'],
    system: ['systemInstruction', 'parts', 0, 'text'],
    user: ['contents', 0, 'parts', 0, 'text'],
    params: {
      generationConfig: {
        responseMimeType: 'application/json',
        temperature: 0.5,
        seed: 7,
        maxOutputTokens: 300,
      },
    },
    dropped: [],
    refusals: [
      ['"responseJsonSchema"', `Unknown name "responseJsonSchema" at 'generation_config'`],
      ['"functionDeclarations"', 'Function calling is not enabled for models/m1'],
      ['"responseMimeType"', 'JSON mode is not enabled for models/m1'],
    ],
  },
  {
    provider: 'openai-responses',
    model: 'm1',
    env: (origin) => ({
      AGENT_EVAL_LLM_BASE_URL: origin,
      AGENT_EVAL_LLM_API_KEY: KEY,
      AGENT_EVAL_LLM_DIALECT: 'openai-responses',
    }),
    path: '/v1/responses',
    header: ['authorization', `Bearer ${KEY}`],
    schema: ['text', 'format', 'schema'],
    system: ['input', 0, 'content'],
    user: ['input', 1, 'content'],
    params: { model: 'm1', store: false, temperature: 0.5, max_output_tokens: 300 },
    dropped: ['seed'],
    refusals: [
      ['"json_schema"', "Invalid parameter: 'text.format' of type 'json_schema' is not supported"],
      ['"tools"', 'tools are not supported with this model'],
      ['"json_object"', "'text.format' of type 'json_object' is not supported"],
    ],
  },
  {
    ...CHAT,
    provider: 'openai',
    model: 'm1',
    env: (origin) => ({ OPENAI_BASE_URL: origin, OPENAI_API_KEY: KEY }),
  },
  {
    ...CHAT,
    provider: 'azure',
    model: 'azure/m1',
    env: (origin) => ({
      AZURE_BASE_URL: origin,
      AZURE_API_KEY: KEY,
      AZURE_API_VERSION: '2024-10-21',
    }),
    path: '/openai/deployments/m1/chat/completions?api-version=2024-10-21',
    header: ['api-key', KEY],
  },
  {
    ...CHAT,
    provider: 'xai',
    model: 'xai/m1',
    env: (origin) => ({ XAI_BASE_URL: origin, XAI_API_KEY: KEY }),
  },
  {
    ...CHAT,
    provider: 'openrouter',
    model: 'openrouter/m1',
    env: (origin) => ({ OPENROUTER_BASE_URL: `${origin}/api/v1`, OPENROUTER_API_KEY: KEY }),
    path: '/api/v1/chat/completions',
  },
  {
    ...CHAT,
    provider: 'cerebras',
    model: 'cerebras/m1',
    env: (origin) => ({ CEREBRAS_BASE_URL: origin, CEREBRAS_API_KEY: KEY }),
  },
];

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.close());
beforeEach(() => server.reset());

describe.each(ROWS)('$provider', (row) => {
  const opened: AgentEval[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((engine) => engine.close()));
  });

  async function judge(steps: Step[] = [], more: object = {}): Promise<JudgeResult> {
    await server.script(steps);
    const engine = await createAgentEval({
      env: { ...row.env(server.origin), AGENT_EVAL_TIMEOUT_MS: '20000' },
    });
    opened.push(engine);
    return engine.judge({ rubric: RUBRIC, content: 'The cat sat.', model: row.model, ...more });
  }

  async function failure(steps: Step[]): Promise<AgentEvalError> {
    return await judge(steps).then(
      () => expect.unreachable('the call must fail'),
      (error) => error,
    );
  }

  async function only(): Promise<RecordedRequest> {
    const [request, ...others] = await server.requests();
    expect(others).toEqual([]);
    if (request === undefined) expect.unreachable('nothing was sent');
    return request;
  }

  const said = (error: AgentEvalError): string => JSON.stringify([error.message, error.details]);

  it('asks once, at its own path, with the key in its own header', async () => {
    expect(await judge()).toMatchObject({ composite: 0.8, attempts: 1, replyMode: 'json_schema' });
    const request = await only();
    expect(request.path).toBe(row.path);
    const headers = request.headers.map(([name, value]) => [name.toLowerCase(), value]);
    expect(headers).toContainEqual(row.header);
    expect(headers.filter(([, value]) => value?.includes(KEY))).toHaveLength(1);
    expect(JSON.stringify([request.path, request.body])).not.toContain(KEY);
  });

  it('puts schema, prompt and parameters where they belong, and leaves out what is absent', async () => {
    const result = await judge([], { temperature: 0.5, seed: 7, maxTokens: 300 });
    const { body } = await only();
    const required = at(body, [...row.schema, 'properties', 'dimensions', 'required']);
    expect(required).toEqual(['quality']);
    expect(at(body, row.system)).toContain('Judge how plain the text is.');
    expect(at(body, row.user)).toContain('The cat sat.');
    expect(body).toMatchObject(row.params);
    expect(result.droppedParams).toEqual(row.dropped);
    expect(JSON.stringify(body)).not.toContain('null');
  });

  it('counts cached tokens once, and thinking as output', async () => {
    const usage = {
      prompt_tokens: 1000,
      prompt_tokens_details: { cached_tokens: 400 },
      completion_tokens: 70,
      completion_tokens_details: { reasoning_tokens: 20 },
      total_tokens: 1070,
    };
    const result = await judge([{ usage }]);
    expect(result.usage).toEqual({
      inputTokens: 1000,
      cachedInputTokens: 400,
      outputTokens: 70,
      costUsd: null,
    });
  });

  it('does without usage', async () => {
    expect((await judge([{ usage: 'absent' }])).usage).toBeNull();
  });

  it('does not ask again after a refusal or a filter', async () => {
    const error = await failure([
      { reply: { content: 'I would rather not.' }, finishReason: 'content_filter' },
    ]);
    expect(error.code).toBe('judge_refused');
    await only();
  });

  it('asks once more after a reply that was cut off', async () => {
    const cut: Step = { reply: { content: '{"rationale": "r", "dim' }, finishReason: 'length' };
    expect(await judge([cut], { maxTokens: 200 })).toMatchObject({ composite: 0.8, attempts: 2 });
    expect((await failure([{ ...cut, times: 'forever' }])).code).toBe('judge_truncated');
  });

  it('shows a broken reply to the model again', async () => {
    expect((await judge([{ reply: { content: 'Good, I think.' } }])).composite).toBe(0.8);
    const [, second] = await server.requests();
    expect(JSON.stringify(second?.body)).toContain('Good, I think.');
  });

  it.each([
    [401, 'provider_auth'],
    [403, 'provider_auth'],
    [404, 'model_not_found'],
    [400, 'provider_error'],
  ])('is asked once when it answers %i', async (status, code) => {
    const message = `no: your key is ${KEY}`;
    const error = await failure([
      { status, reply: { json: { error: { message } } }, times: 'forever' },
    ]);
    expect(error.code).toBe(code);
    expect(said(error)).toContain(row.path.replace(/\?.*/, ''));
    expect(said(error)).not.toContain(KEY);
    await only();
  });

  it('waits as long as a 429 asks', async () => {
    const step: Step = { status: 429, headers: [['retry-after', '1']] };
    expect((await judge([step])).attempts).toBe(2);
    const [first, second] = await server.requests();
    expect((second?.time ?? 0) - (first?.time ?? 0)).toBeGreaterThanOrEqual(0.99);
  });

  it.each<[string, Step]>([
    ['500', { status: 500 }],
    ['529', { status: 529 }],
    ['a reset', { drop: 'rst' }],
    ['a page with status 200', { reply: { raw: '<html>' } }],
  ])('is asked again after %s', async (_name, step) => {
    expect(await judge([step])).toMatchObject({ composite: 0.8, attempts: 2 });
  });

  it('hides a key that a model repeats', async () => {
    const verdict = { rationale: `the key is ${KEY}`, dimensions: { quality: 0.5 } };
    const result = await judge([{ reply: { verdict } }], { includeRaw: true });
    expect(JSON.stringify(result)).not.toContain(KEY);
    expect(result.rationale).toContain('***');
  });

  const refusing = ([holds, message]: [string, string]): Step => ({
    match: { bodyContains: holds },
    times: 'forever',
    status: 400,
    reply: { json: { error: { message } } },
  });

  it('does with a forced tool call where no schema is taken', async () => {
    const result = await judge(row.refusals.slice(0, 1).map(refusing));
    expect(result).toMatchObject({ composite: 0.8, attempts: 2, replyMode: 'tool_call' });
  });

  it('does with plain text where nothing stricter is taken', async () => {
    const result = await judge(row.refusals.map(refusing));
    const attempts = row.refusals.length + 1;
    expect(result).toMatchObject({ composite: 0.8, attempts, replyMode: 'text' });
    const last = (await server.requests()).at(-1);
    expect(JSON.stringify(last?.body)).toContain('additionalProperties');
  });

  it('leaves out a parameter that is not taken', async () => {
    const refusal = refusing(['"temperature"', '`temperature` is deprecated for this model.']);
    const result = await judge([refusal], { temperature: 0.5 });
    expect(result).toMatchObject({ composite: 0.8, attempts: 2, droppedParams: ['temperature'] });
  });
});
