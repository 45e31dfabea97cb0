import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import failures from '../../../../tests/vectors/provider-failures.json' with { type: 'json' };
import hints from '../../../../tests/vectors/wait-hints.json' with { type: 'json' };
import { waitHintMs } from './answers/wait-hint.js';
import { BodyReader, MAX_REPLY_BYTES, ReplyTooLarge } from './body.js';
import { readCompletion } from './completion.js';
import { classifyFailure } from './failure.js';

interface Failure {
  status: number;
  body: unknown;
  code: string;
  retry: boolean;
  details?: object;
}

interface Hint {
  status: number;
  headers: Record<string, string>;
  body: unknown;
  waitMs: number | null;
}

describe('what an unusable answer means', () => {
  it.each(failures as Failure[])('$name', ({ status, body, code, retry, details }) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const failure = classifyFailure(status, text);
    expect(failure).toMatchObject({ code, retry });
    if (details !== undefined) expect(failure.details).toEqual(details);
  });
});

describe('how long an answer asks to be left alone', () => {
  it.each(hints.cases as Hint[])('$name', ({ status, headers, body, waitMs }) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const wait = waitHintMs(status, (name) => headers[name], text, hints.nowMs);
    expect(wait ?? null).toBe(waitMs);
  });
});

const completion = (choice: unknown, rest: object = {}): string =>
  JSON.stringify({ choices: [choice], ...rest });

describe('reading a completion', () => {
  it('takes text, model, finish reason and usage', () => {
    const body = completion(
      { finish_reason: 'stop', message: { content: '{}' } },
      {
        model: 'm-1',
        usage: {
          prompt_tokens: 3,
          completion_tokens: 2,
          prompt_tokens_details: { cached_tokens: 1 },
        },
      },
    );
    expect(readCompletion(body)).toEqual({
      kind: 'completion',
      text: '{}',
      refusal: null,
      reasoning: null,
      logprobs: null,
      finishReason: 'stop',
      model: 'm-1',
      usage: { inputTokens: 3, outputTokens: 2, cachedInputTokens: 1 },
    });
  });

  it.each([
    ['no choices', JSON.stringify({ choices: [] })],
    ['choices left out', '{}'],
    ['null everywhere', JSON.stringify({ choices: [null], usage: null, model: null })],
  ])('reads %s as an empty text', (_name, body) => {
    expect(readCompletion(body)).toMatchObject({ kind: 'completion', text: '', usage: null });
  });

  it('joins content that comes as a list of parts', () => {
    const content = [{ type: 'text', text: 'a' }, { type: 'image' }, { type: 'text', text: 'b' }];
    expect(readCompletion(completion({ message: { content } }))).toMatchObject({ text: 'ab' });
  });

  it('counts usage as unknown when half of it is missing', () => {
    const usage = { prompt_tokens: 5, completion_tokens: null };
    expect(readCompletion(completion({ message: {} }, { usage }))).toMatchObject({ usage: null });
  });

  it.each([
    [{ error: { code: 401, message: 'no' } }, 401],
    [{ error: { code: 'x', message: 'no' } }, 200],
    [{ error: 'no' }, 200],
  ])('sees the error inside %j', (body, status) => {
    expect(readCompletion(JSON.stringify(body))).toMatchObject({ kind: 'error', status });
  });

  it.each(['data: {}\n\n', '<html></html>', '', 'plain words'])('says what %j is', (body) => {
    expect(readCompletion(body).kind).toBe('unreadable');
  });
});

async function read(parts: Uint8Array[], encoding?: string): Promise<string> {
  const body = new BodyReader();
  for (const part of parts) body.add(part);
  return body.text(encoding);
}

describe('reading a body', () => {
  const text = 'grün 🚀';
  it.each([
    [undefined, Buffer.from(text)],
    ['identity', Buffer.from(text)],
    ['gzip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['deflate', deflateSync(text)],
  ])('undoes the encoding %s, however the bytes are cut', async (encoding, bytes) => {
    const pieces = [...bytes].map((byte) => Uint8Array.of(byte));
    expect(await read(pieces, encoding)).toBe(text);
  });

  it('stops at its limit, also after unpacking', async () => {
    const big = Buffer.alloc(MAX_REPLY_BYTES + 1, 0x61);
    await expect(read([big])).rejects.toBeInstanceOf(ReplyTooLarge);
    await expect(read([gzipSync(big)], 'gzip')).rejects.toThrow();
  });

  it('refuses an encoding it does not know', async () => {
    await expect(read([Buffer.from('x')], 'snappy')).rejects.toThrow('snappy');
  });
});
