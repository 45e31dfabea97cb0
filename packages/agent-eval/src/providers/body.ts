import { promisify } from 'node:util';

/** Largest answer that is read; a verdict is a few kilobytes. */
export const MAX_REPLY_BYTES = 16 * 1024 * 1024;

export class ReplyTooLarge extends Error {
  constructor() {
    super(`the answer is larger than ${MAX_REPLY_BYTES} bytes`);
  }
}

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

  async text(encoding: string | undefined): Promise<string> {
    const bytes = Buffer.concat(this.#chunks, this.#size);
    const name = encoding?.trim().toLowerCase();
    if (name === undefined || name === '' || name === 'identity') return bytes.toString('utf8');
    return (await decoded(bytes, name)).toString('utf8');
  }
}

async function decoded(bytes: Buffer, name: string): Promise<Buffer> {
  const zlib = await import('node:zlib');
  const options = { maxOutputLength: MAX_REPLY_BYTES };
  switch (name) {
    case 'gzip':
    case 'x-gzip':
      return promisify<Buffer, object, Buffer>(zlib.gunzip)(bytes, options);
    case 'br':
      return promisify<Buffer, object, Buffer>(zlib.brotliDecompress)(bytes, options);
    case 'deflate':
      return promisify<Buffer, object, Buffer>(zlib.inflate)(bytes, options);
    default:
      throw new Error(`the answer has the unknown content encoding "${name}"`);
  }
}
