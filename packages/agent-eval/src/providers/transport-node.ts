import type * as http from 'node:http';
import type * as https from 'node:https';
import { Stopped } from '../core/cancel.js';
import { BodyReader } from './body.js';
import type { HttpReply, HttpRequest, HttpTransport } from './types.js';

/** node:http or node:https. The caller loads the one that is needed: TLS takes longer than a whole call without it. */
export type HttpLibrary = typeof http | typeof https;

/**
 * Requests through node:http, for a process that makes one call and ends: undici's parser is WebAssembly,
 * and compiling it costs more than the whole call.
 */
export function nodeTransport(origin: string, library: HttpLibrary): HttpTransport {
  const agent = new library.Agent({ keepAlive: true });
  const base = new URL(origin);
  return {
    async send(request: HttpRequest): Promise<HttpReply> {
      const response = await answered(library, agent, base, request);
      const header = (name: string): string | undefined => {
        const value = response.headers[name];
        return Array.isArray(value) ? value[0] : value;
      };
      const body = new BodyReader();
      for await (const chunk of response) body.add(chunk);
      const text = await body.text(header('content-encoding'));
      return { status: response.statusCode ?? 0, header, text };
    },
    async close() {
      agent.destroy();
    },
  };
}

function answered(
  library: HttpLibrary,
  agent: http.Agent | https.Agent,
  base: URL,
  { method, path, headers, body, cancel }: HttpRequest,
): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = library.request(
      {
        protocol: base.protocol,
        host: base.hostname.replace(/^\[|\]$/g, ''),
        port: base.port,
        path,
        method,
        headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
        agent,
      },
      resolve,
    );
    const forget = cancel.onStop(() => outgoing.destroy(new Stopped()));
    outgoing.on('close', forget);
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
