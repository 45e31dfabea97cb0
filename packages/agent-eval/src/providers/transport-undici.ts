import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { type Cancellation, Stopped } from '../core/cancel.js';
import { BodyReader } from './body.js';
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
    send: ({ path, method, headers, body, cancel }: HttpRequest) =>
      new Promise((resolve, reject) => {
        const exchange = new Exchange(cancel, resolve, reject);
        dispatcher.dispatch(
          {
            origin: options.origin,
            path,
            method,
            headers,
            body: method === 'POST' ? body : null,
          },
          exchange,
        );
      }),
    close: () => dispatcher.close(),
  };
}

/**
 * One request and its answer. The answer is collected as it comes: a stream for each would cost as much as
 * the rest of the exchange, and what arrives is bounded anyway.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #resolve: (reply: HttpReply | Promise<HttpReply>) => void;
  readonly #reject: (error: unknown) => void;
  readonly #forget: () => void;
  readonly #body = new BodyReader();
  #controller: Dispatcher.DispatchController | undefined;
  #stopped = false;
  #status = 0;
  #headers: Record<string, string | string[] | undefined> = {};

  constructor(
    cancel: Cancellation,
    resolve: (reply: HttpReply | Promise<HttpReply>) => void,
    reject: (error: unknown) => void,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#forget = cancel.onStop(() => this.#stop());
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#stopped) controller.abort(new Stopped());
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    try {
      this.#body.add(chunk);
    } catch (error) {
      controller.abort(error as Error);
    }
  }

  onResponseEnd(): void {
    this.#forget();
    this.#resolve(this.#reply());
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#forget();
    this.#reject(error);
  }

  /** The caller is told at once; a request that still waits for a connection is dropped when its turn comes. */
  #stop(): void {
    this.#stopped = true;
    this.#controller?.abort(new Stopped());
    this.#reject(new Stopped());
  }

  async #reply(): Promise<HttpReply> {
    const header = (name: string): string | undefined => firstOf(this.#headers[name]);
    return {
      status: this.#status,
      header,
      text: await this.#body.text(header('content-encoding')),
    };
  }
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
