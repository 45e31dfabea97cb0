import { promisify } from 'node:util';

/** Largest answer that is read; a verdict is a few kilobytes. */
export const MAX_REPLY_BYTES = 16 * 1024 * 1024;

export class ReplyTooLarge extends Error {
  constructor() {
    super(`the answer is larger than ${MAX_REPLY_BYTES} bytes`);
  }
}

/** Reads a body up to the limit and undoes its content encoding. */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  encoding: string | undefined,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > MAX_REPLY_BYTES) throw new ReplyTooLarge();
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  return (await decoded(bytes, encoding)).toString('utf8');
}

async function decoded(bytes: Buffer, encoding: string | undefined): Promise<Buffer> {
  const name = encoding?.trim().toLowerCase();
  if (name === undefined || name === '' || name === 'identity') return bytes;
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
