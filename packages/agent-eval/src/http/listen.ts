import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { type Clock, timeoutSignal } from '../core/clock.js';

/** Longer than clients keep an idle connection, so that none sends on one that is just being closed. */
const KEEP_ALIVE_MS = 75_000;

export interface ListenOptions {
  host: string;
  port: number;
  clock: Clock;
}

export interface Listening {
  /** Address to call, with the port that was taken. */
  url: string;
  /** Stops accepting, lets requests in flight finish for up to `drainMs`, then closes. */
  close(drainMs: number): Promise<void>;
}

/** Serves an app on a port. Throws an error that says what holds a taken port, where that can be known. */
export async function listen(
  app: { fetch: Parameters<typeof getRequestListener>[0] },
  options: ListenOptions,
): Promise<Listening> {
  const server = createServer(
    // A batch may take as long to send as its judgements take.
    { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 },
    getRequestListener(app.fetch),
  );
  let inFlight = 0;
  let onIdle: (() => void) | undefined;
  server.on('request', (_request, response) => {
    inFlight += 1;
    response.once('close', () => {
      inFlight -= 1;
      if (inFlight === 0) onIdle?.();
    });
  });
  await bound(server, options);
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${port}`,
    async close(drainMs) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      if (inFlight > 0) {
        await new Promise<void>((resolve) => {
          const cancel = options.clock.setTimer(resolve, drainMs);
          onIdle = () => {
            cancel();
            resolve();
          };
        });
      }
      server.closeAllConnections();
      await closed;
    },
  };
}

function bound(server: Server, { host, port }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', async (error) => reject(await startError(error, host, port)));
    server.listen({ host, port }, resolve);
  });
}

async function startError(error: Error, host: string, port: number): Promise<AgentEvalError> {
  const code = 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') {
    const holder = await whoAnswers(host, port);
    return new AgentEvalError(
      'service_unavailable',
      `Port ${port} is taken by ${holder}: stop it, or choose another with --port (0 picks a free one).`,
      { port },
    );
  }
  const reason =
    code === 'EACCES'
      ? 'it needs more rights'
      : code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND'
        ? 'this machine has no such address'
        : String(code ?? error.message);
  return new AgentEvalError('service_unavailable', `Cannot listen on ${host}:${port}: ${reason}.`);
}

/** Asks whatever holds the port for its version; only another agent-eval says who it is. */
async function whoAnswers(host: string, port: number): Promise<string> {
  const name = host.includes(':') ? `[${host}]` : host;
  try {
    const response = await fetch(`http://${name}:${port}/v1/version`, {
      signal: timeoutSignal(1000),
      redirect: 'manual',
    });
    const body: unknown = await response.json();
    if (typeof body === 'object' && body !== null && 'package' in body && 'version' in body) {
      return `another agent-eval server (version ${String(body.version)})`;
    }
  } catch {
    return 'another program';
  }
  return 'another program';
}
