import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ModelServer, startModelServer } from '../../../../../tests/fakes/model-server.js';
import { systemClock } from '../../core/clock.js';
import { type Deadline, startDeadline } from '../../core/deadline.js';
import type { DialectName } from '../../core/dialect-name.js';
import { encodeText } from '../../core/encoded-text.js';
import { ProviderRegistry } from '../registry.js';
import { undiciTransport } from '../transport-undici.js';
import type { ModelReply } from '../types.js';

let server: ModelServer;
let registry: ProviderRegistry;
const deadlines: Deadline[] = [];
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.close());
beforeEach(async () => {
  await server.reset();
  registry = new ProviderRegistry({
    attempts: 1,
    concurrency: 4,
    queueLimit: 10,
    createTransport: async ({ origin }, connections) =>
      undiciTransport({ origin, connections, proxy: null }),
  });
});
afterEach(async () => {
  for (const deadline of deadlines.splice(0)) deadline.release();
  await registry.close();
});

async function ask(dialect: DialectName, reasoningEffort?: string): Promise<ModelReply> {
  const { origin } = server;
  const place = { origin, path: '/v1', query: '', apiKey: null, basicAuth: null, loopback: true };
  const client = await registry.client({ ...place, dialect });
  const deadline = startDeadline(systemClock, 20_000);
  deadlines.push(deadline);
  const request = { model: 'm', system: encodeText('s'), user: 'u', reasoningEffort };
  return client.complete({ ...request, schema: { name: 'verdict', json: '{}' } }, deadline);
}

const PLACES: [DialectName, string[]][] = [
  ['openai-chat', ['reasoning_effort']],
  ['openrouter', ['reasoning_effort']],
  ['openai-responses', ['reasoning', 'effort']],
  ['anthropic', ['output_config', 'effort']],
  ['gemini', ['generationConfig', 'thinkingConfig', 'thinkingLevel']],
];

function at(body: unknown, place: string[]): unknown {
  return place.reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], body);
}

describe('how much a model should think', () => {
  it.each(PLACES)('is said in the words of %s, and only when asked for', async (dialect, place) => {
    await ask(dialect, 'low');
    await ask(dialect);
    const bodies = (await server.requests()).map(({ body }) => body);
    expect(bodies.map((body) => at(body, place))).toEqual(['low', undefined]);
  });

  it.each(PLACES)('is left out once %s refuses it', async (dialect, place) => {
    const message = `${place.join('.')}: unsupported parameter for this model`;
    const error = { message, code: 'invalid_request', status: 'INVALID_ARGUMENT' };
    await server.script([{ status: 400, reply: { json: { error } } }]);
    const reply = await ask(dialect, 'low');
    expect(reply.droppedParams).toContain('reasoning_effort');
    expect(reply.replyMode).toBe('json_schema');
    const bodies = (await server.requests()).map(({ body }) => body);
    expect(bodies.map((body) => at(body, place))).toEqual(['low', undefined]);
  });
});
