import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { readBody } from './body.js';
import type { HttpReply, HttpRequest, HttpTransport } from './types.js';

export interface ProxyChoice {
  httpProxy: string | undefined;
  httpsProxy: string | undefined;
  noProxy: string | undefined;
}

export interface UndiciOptions {
  origin: string;
  connections: number;
  /** Null for a direct connection. */
  proxy: ProxyChoice | null;
}

/** Keep-alive connections to one origin. The only timer is the caller's deadline. */
export function undiciTransport(options: UndiciOptions): HttpTransport {
  const dispatcher = createDispatcher(options);
  return {
    async send(request: HttpRequest): Promise<HttpReply> {
      const { statusCode, headers, body } = await dispatcher.request({
        origin: options.origin,
        path: request.path,
        method: request.method,
        headers: request.headers,
        body: request.method === 'POST' ? request.body : null,
        signal: request.signal,
      });
      const header = (name: string): string | undefined => firstOf(headers[name]);
      const text = await readBody(body, header('content-encoding'));
      return { status: statusCode, header, text };
    },
    close: () => dispatcher.close(),
  };
}

function createDispatcher({ origin, connections, proxy }: UndiciOptions): Dispatcher {
  const limits = { connections, headersTimeout: 0, bodyTimeout: 0 };
  if (proxy === null) return new Pool(origin, limits);
  const { httpProxy, httpsProxy, noProxy } = proxy;
  return new EnvHttpProxyAgent({
    ...limits,
    ...(httpProxy !== undefined && { httpProxy }),
    ...(httpsProxy !== undefined && { httpsProxy }),
    ...(noProxy !== undefined && { noProxy }),
  });
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
