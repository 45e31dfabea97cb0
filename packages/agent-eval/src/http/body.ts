import { AgentEvalError, validationError } from '@tangle-network/agent-eval-contract';
import type { HonoRequest } from 'hono';
import { parseJson } from '../core/json.js';
import type { HeaderReader } from './guards.js';

/** Reads a JSON body of at most `limit` bytes. */
export async function readJsonBody(
  request: HonoRequest,
  header: HeaderReader,
  limit: number,
): Promise<unknown> {
  const type = header('content-type') ?? '';
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new AgentEvalError(
      'unsupported_media_type',
      'Send the body as JSON, with "Content-Type: application/json".',
      { contentType: type.slice(0, 100) },
    );
  }
  const charset = /charset\s*=\s*"?([\w-]+)/i.exec(type)?.[1]?.toLowerCase() ?? 'utf-8';
  const encoding = header('content-encoding')?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity' || !['utf-8', 'utf8', 'us-ascii'].includes(charset)) {
    throw new AgentEvalError(
      'unsupported_media_type',
      'Send the body as plain UTF-8, not encoded.',
      {
        charset,
        encoding,
      },
    );
  }
  const text = await readText(request, header, limit);
  const value = parseJson(text.startsWith('\ufeff') ? text.slice(1) : text);
  if (value !== undefined) return value;
  throw validationError('Invalid body', [{ path: '', message: 'is not JSON' }]);
}

/**
 * A declared length is checked before anything is read, and the parser below holds the sender to it;
 * without one the bytes are counted as they come.
 */
async function readText(
  request: HonoRequest,
  header: HeaderReader,
  limit: number,
): Promise<string> {
  const declared = header('content-length');
  if (declared !== undefined) {
    if (Number(declared) > limit) throw tooLarge(limit);
    return request.text();
  }
  const { body } = request.raw;
  if (body === null) return '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function tooLarge(limit: number): AgentEvalError {
  return new AgentEvalError(
    'payload_too_large',
    `The body is larger than ${limit} bytes: send less, or raise --body-limit.`,
    { limitBytes: limit },
  );
}
