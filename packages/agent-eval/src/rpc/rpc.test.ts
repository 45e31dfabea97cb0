import { PassThrough, Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApiDeps } from '../api/deps.js';
import { resolveSettings } from '../config/resolve.js';
import { systemClock } from '../core/clock.js';
import { readLines } from '../core/lines.js';
import { composeEngine } from '../entries/compose.js';
import { VERSION_INFO } from '../entries/version-info.js';
import { runBatch } from './batch.js';
import { runOneShot } from './one-shot.js';
import { runSession } from './session.js';

async function deps(): Promise<ApiDeps> {
  const engine = await composeEngine({ env: {}, resolved: resolveSettings({}), oneShot: true });
  return engine.deps;
}

function sink(): { output: PassThrough; lines: () => unknown[] } {
  const output = new PassThrough();
  const parts: Buffer[] = [];
  output.on('data', (chunk: Buffer) => parts.push(chunk));
  const lines = (): unknown[] =>
    Buffer.concat(parts)
      .toString('utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return { output, lines };
}

describe('lines', () => {
  it('come out the same however the bytes are cut', async () => {
    const text = '{"a":"\u2028 grün 🚀"}\n\nlast';
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(40), { maxLength: 8 }), async (cuts) => {
        const bytes = Buffer.from(text);
        const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const pieces = at.slice(1).map((end, i) => bytes.subarray(at[i], end));
        const read: string[] = [];
        for await (const line of readLines(Readable.from(pieces)))
          if (line.ok) read.push(line.text);
        expect(read).toEqual(text.split('\n'));
      }),
    );
  });

  it('tell a line over the limit once and go on', async () => {
    const input = Readable.from([Buffer.from('a'.repeat(30)), Buffer.from('a\nok\n')]);
    const read = [];
    for await (const line of readLines(input, 10)) read.push(line);
    expect(read).toEqual([
      { ok: false, reason: 'too long' },
      { ok: true, text: 'ok' },
    ]);
  });
});

describe('a session', () => {
  async function session(input: string): Promise<unknown[]> {
    const { output, lines } = sink();
    const bytes = Readable.from([Buffer.from(input)]);
    await runSession({ input: bytes, output, hello: VERSION_INFO, deps, clock: systemClock });
    return lines();
  }

  it('greets before it reads, and answers by id', async () => {
    const [hello, ...answers] = await session(
      '{"id":1,"method":"version"}\n{"id":"two","method":"getRubric","params":{"name":"nope"}}\n',
    );
    expect(hello).toEqual({ hello: VERSION_INFO });
    expect(answers).toContainEqual({ id: 1, result: VERSION_INFO });
    expect(answers).toContainEqual(
      expect.objectContaining({
        id: 'two',
        error: expect.objectContaining({ code: 'rubric_not_found' }),
      }),
    );
  });

  it.each([
    ['not JSON', 'nonsense', null],
    ['a list', '[1]', null],
    ['no id', '{"method":"version"}', null],
    ['a fractional id', '{"id":1.5,"method":"version"}', null],
    ['no method', '{"id":1}', 1],
    ['an unknown method', '{"id":1,"method":"judgee"}', 1],
  ])('answers %s with a validation error', async (_name, line, id) => {
    const answers = await session(`${line}\n`);
    expect(answers[1]).toMatchObject({ id, error: { code: 'validation_error' } });
    expect(answers).toHaveLength(2);
  });

  it('passes over blank lines and a byte-order mark', async () => {
    const answers = await session('\ufeff{"id":1,"method":"version"}\n\n  \n');
    expect(answers).toHaveLength(2);
  });
});

describe('a one-shot call', () => {
  async function once(method: string | null, input: string) {
    const { output, lines } = sink();
    const bytes = Readable.from([Buffer.from(input)]);
    const done = await runOneShot({ method, input: bytes, output, deps });
    return { done, lines: lines() };
  }

  it('takes the method as an argument or from the input', async () => {
    expect((await once('version', '')).lines).toEqual([{ result: VERSION_INFO }]);
    expect((await once(null, '{"method":"version"}')).lines).toEqual([{ result: VERSION_INFO }]);
  });

  it.each([
    ['judge', 'nope'],
    [null, '[]'],
    [null, '{"method":1}'],
    ['version', '{"extra":1}'],
  ])('answers %s with input %s as a validation error', async (method, input) => {
    const { done, lines } = await once(method, input);
    expect(done).toEqual({ ok: false, code: 'validation_error' });
    expect(lines).toHaveLength(1);
  });
});

describe('a batch', () => {
  it('answers every non-blank line in order, and names the line of a bad one', async () => {
    const { output, lines } = sink();
    const input = Readable.from([Buffer.from('{}\n\nbad\n{"x":1}\n{}')]);
    const totals = await runBatch({
      method: 'version',
      input,
      output,
      deps: await deps(),
      concurrency: 2,
    });
    expect(totals).toEqual({ lines: 4, failed: 2 });
    expect(lines()).toEqual([
      { result: VERSION_INFO },
      { error: expect.objectContaining({ details: expect.objectContaining({ line: 3 }) }) },
      { error: expect.objectContaining({ details: expect.objectContaining({ line: 4 }) }) },
      { result: VERSION_INFO },
    ]);
  });

  it('streams: an answer is out before the input ends', async () => {
    const output = new PassThrough();
    const input = new PassThrough();
    const running = runBatch({
      method: 'version',
      input,
      output,
      deps: await deps(),
      concurrency: 8,
    });
    input.write('{}\n');
    const [first] = await once(output);
    expect(JSON.parse(String(first))).toEqual({ result: VERSION_INFO });
    input.end();
    await running;
  });
});

function once(stream: PassThrough): Promise<[Buffer]> {
  return new Promise((resolve) => stream.once('data', (chunk: Buffer) => resolve([chunk])));
}
