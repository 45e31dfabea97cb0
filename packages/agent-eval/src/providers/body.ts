import { promisify } from 'node:util';

/** Largest answer that is read; a verdict is a few kilobytes. */
export const MAX_REPLY_BYTES = 16 * 1024 * 1024;

export class ReplyTooLarge extends Error {
  constructor() {
    super(`the answer is larger than ${MAX_REPLY_BYTES} bytes`);
  }
}

/** The content encoding that the answer names is not what it has. */
export class UndecodableReply extends Error {
  constructor(encoding: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`answered with a body that is not valid ${encoding.slice(0, 40)} (${why})`);
  }
}

const ZSTD_PIECE = 64 * 1024;

/** Collects a body up to the limit and undoes its content encoding. */
export class BodyReader {
  readonly #chunks: Uint8Array[] = [];
  #size = 0;

  /** Throws `ReplyTooLarge`. */
  add(chunk: Uint8Array): void {
    this.#size += chunk.byteLength;
    if (this.#size > MAX_REPLY_BYTES) throw new ReplyTooLarge();
    this.#chunks.push(chunk);
  }

  /** Throws `UndecodableReply`. */
  async text(encoding: string | undefined): Promise<string> {
    const bytes = Buffer.concat(this.#chunks, this.#size);
    if (encoding === undefined || encoding === '' || encoding === 'identity') {
      return bytes.toString('utf8');
    }
    return (await decoded(bytes, encoding)).toString('utf8');
  }
}

/** Undoes the encodings, the one applied last first. */
async function decoded(bytes: Buffer, encodings: string): Promise<Buffer> {
  const names = encodings.split(',').map((name) => name.trim().toLowerCase());
  let plain = bytes;
  for (const name of names.reverse()) {
    if (name === '' || name === 'identity' || name === 'none') continue;
    try {
      plain = await undone(plain, name);
    } catch (error) {
      throw error instanceof UndecodableReply ? error : new UndecodableReply(name, error);
    }
  }
  return plain;
}

async function undone(bytes: Buffer, name: string): Promise<Buffer> {
  const zlib = await import('node:zlib');
  const options = { maxOutputLength: MAX_REPLY_BYTES };
  switch (name) {
    case 'gzip':
    case 'x-gzip':
      return promisify<Buffer, object, Buffer>(zlib.gunzip)(bytes, options);
    case 'br':
      return promisify<Buffer, object, Buffer>(zlib.brotliDecompress)(bytes, options);
    case 'deflate': {
      // The name means zlib, and some servers send the bare stream.
      const bare = ((bytes[0] ?? 0) & 0x0f) !== 8;
      return promisify<Buffer, object, Buffer>(bare ? zlib.inflateRaw : zlib.inflate)(
        bytes,
        options,
      );
    }
    case 'zstd':
      return unzstd(bytes);
    default:
      throw new UndecodableReply(name, 'an encoding nobody asked for');
  }
}

/** Decodes in pieces, so that a small answer cannot become a huge one. */
async function unzstd(bytes: Buffer): Promise<Buffer> {
  const { Decompress } = await import('fzstd');
  const plain: Uint8Array[] = [];
  let size = 0;
  const stream = new Decompress((chunk) => {
    size += chunk.byteLength;
    if (size > MAX_REPLY_BYTES) throw new ReplyTooLarge();
    plain.push(chunk);
  });
  for (let at = 0; at < bytes.length; at += ZSTD_PIECE) {
    const next = at + ZSTD_PIECE;
    stream.push(bytes.subarray(at, next), next >= bytes.length);
  }
  return Buffer.concat(plain, size);
}
