import type { Readable } from 'node:stream';

/** Longest line, in bytes, that is read. */
export const MAX_LINE_BYTES = 4 * 1024 * 1024;

export type Line = { ok: true; text: string } | { ok: false; reason: 'too long' };

const NEWLINE = 0x0a;

/**
 * Splits a byte stream at newlines, and at nothing else. A line over the limit is told once and its rest
 * is passed over without being held.
 */
export async function* readLines(
  input: AsyncIterable<Uint8Array>,
  limit = MAX_LINE_BYTES,
): AsyncGenerator<Line> {
  let parts: Uint8Array[] = [];
  let size = 0;
  let skipping = false;
  const take = (piece: Uint8Array): void => {
    size += piece.byteLength;
    if (skipping || size > limit) {
      skipping = true;
      parts = [];
    } else if (piece.byteLength > 0) {
      parts.push(piece);
    }
  };
  const finish = (): Line => {
    const line: Line = skipping
      ? { ok: false, reason: 'too long' }
      : { ok: true, text: Buffer.concat(parts).toString('utf8') };
    parts = [];
    size = 0;
    skipping = false;
    return line;
  };
  for await (const chunk of input) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      take(chunk.subarray(start, end));
      yield finish();
      start = end + 1;
    }
    take(chunk.subarray(start));
  }
  if (size > 0) yield finish();
}

/** The chunks of a stream until it ends or `signal` fires; then what is waiting stays unread. */
export async function* untilStopped(
  input: Readable,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const stop = (): void => {
    input.destroy();
  };
  const stopped = (): boolean => signal?.aborted ?? false;
  if (stopped()) return;
  signal?.addEventListener('abort', stop, { once: true });
  try {
    yield* input as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (!stopped()) throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

/** Text of a line without a byte-order mark; null for a blank one. */
export function lineText(text: string): string | null {
  const bare = text.startsWith('\ufeff') ? text.slice(1) : text;
  return bare.trim() === '' ? null : bare;
}
