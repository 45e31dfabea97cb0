import type { IncomingMessage, ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import {
  AgentEvalError,
  METHODS,
  type MethodRow,
  openApiDocument,
} from '@tangle-network/agent-eval-contract';
import { type Context, Hono } from 'hono';
import type { ApiDeps } from '../api/deps.js';
import { asAgentEvalError, dispatch } from '../api/dispatch.js';
import type { Cancellation } from '../core/cancel.js';
import { newId } from '../core/id.js';
import { checkLinesType, runBatch } from './batch.js';
import { readJsonBody } from './body.js';
import { errorResponse } from './error-response.js';
import {
  checkAccepting,
  checkOrigin,
  checkToken,
  type GuardOptions,
  type HeaderReader,
} from './guards.js';
import { type MetricsSource, metricsResponse } from './metrics.js';

export interface AppOptions extends GuardOptions {
  bodyLimitBytes: number;
  allowRequestProvider: boolean;
  /** Lines of a batch worked on at once. */
  concurrency: number;
  /** False once the server has been told to stop. */
  accepting: () => boolean;
  /** Told of every error that is not the caller's. */
  onFault: (error: AgentEvalError, requestId: string) => void;
  /** Told of every answer. */
  onAnswer?: (facts: AnswerFacts) => void;
  /** What is shown at /metrics; without it there is no such path. */
  metrics?: MetricsSource;
}

/** What is known of an answer when it has been made. */
export interface AnswerFacts {
  /** Name in the method table; null for every other path. */
  method: string | null;
  path: string;
  status: number;
  requestId: string;
  durationMs: number;
  /** Null for an answer that is no error. */
  error: AgentEvalError | null;
}

/** A path that is answered: its name in the method table, and whether it needs the token. */
interface Route {
  method: string | null;
  auth: boolean;
}

type Bindings = { Bindings: { incoming?: IncomingMessage; outgoing?: ServerResponse } };
type AppContext = Context<Bindings>;

/** The HTTP API, made from the method table. It answers `Request` objects; listening is somebody else's job. */
export function createApp(deps: ApiDeps, options: AppOptions): Hono<Bindings> {
  const app = new Hono<Bindings>();
  const started = deps.clock.monotonic();
  for (const [name, method] of Object.entries<MethodRow>(METHODS)) {
    const handler = method.lines
      ? linesHandler(deps, options, name)
      : methodHandler(deps, options, name, method);
    app.on(method.http, method.path.replace(/\{(\w+)\}/g, ':$1'), handler);
  }
  const answerAt = (route: Route, handler: (c: AppContext, id: string) => Promise<unknown>) => {
    return (c: AppContext) => answer(c, deps, options, route, (id) => handler(c, id));
  };
  const open = { method: null, auth: false };
  const guarded = { method: null, auth: true };
  app.get(
    '/healthz',
    answerAt(open, async () => ({
      status: 'ok',
      uptimeSec: Math.round(deps.clock.monotonic() - started) / 1000,
    })),
  );
  app.get(
    '/openapi.json',
    answerAt(open, async () => openApiDocument()),
  );
  const { metrics } = options;
  if (metrics !== undefined) {
    app.get(
      '/metrics',
      answerAt(guarded, (_, id) => metricsResponse(metrics, id)),
    );
  }
  app.all(
    '*',
    answerAt(guarded, async (c) => refusePath(c.req.path)),
  );
  return app;
}

function methodHandler(
  deps: ApiDeps,
  options: AppOptions,
  name: string,
  method: MethodRow,
): (c: AppContext) => Promise<Response> {
  const { allowRequestProvider: allowProvider, bodyLimitBytes } = options;
  const route = { method: name, auth: method.auth };
  return (c) =>
    answer(c, deps, options, route, async () => {
      if (method.http === 'GET') {
        return dispatch(deps, name, { ...c.req.param() }, { allowProvider });
      }
      const params = await readJsonBody(c.req, headerReader(c), bodyLimitBytes);
      const cancel = whenGone(bindings(c)?.outgoing);
      return dispatch(deps, name, params, { allowProvider, cancel });
    });
}

function linesHandler(
  deps: ApiDeps,
  options: AppOptions,
  name: string,
): (c: AppContext) => Promise<Response> {
  return (c) =>
    answer(c, deps, options, { method: name, auth: true }, async (requestId) => {
      checkLinesType(headerReader(c)('content-type'));
      const { incoming, outgoing } = bindings(c) ?? {};
      if (incoming === undefined || outgoing === undefined) throw noSocket();
      await runBatch(incoming, outgoing, requestId, {
        deps,
        allowProvider: options.allowRequestProvider,
        lineLimitBytes: options.bodyLimitBytes,
        concurrency: options.concurrency,
        accepting: options.accepting,
        onFault: (error) => options.onFault(error, requestId),
      });
      return RESPONSE_ALREADY_SENT;
    });
}

function noSocket(): AgentEvalError {
  return new AgentEvalError('internal_error', 'A batch needs a connection to answer on.');
}

/** Guards, runs, renders, tells. Everything but the handler happens here, once. */
async function answer(
  c: AppContext,
  { clock }: ApiDeps,
  options: AppOptions,
  { method, auth }: Route,
  handler: (requestId: string) => Promise<unknown>,
): Promise<Response> {
  const header = headerReader(c);
  const requestId = requestIdOf(header('x-request-id'));
  const started = clock.monotonic();
  const told = (response: Response, error: AgentEvalError | null): Response => {
    options.onAnswer?.({
      method,
      path: c.req.path,
      status: response.status,
      requestId,
      durationMs: Math.round(clock.monotonic() - started),
      error,
    });
    return response;
  };
  try {
    checkOrigin(header, options);
    if (auth) checkToken(header, options);
    checkAccepting(options.accepting);
    const answered = await handler(requestId);
    if (answered instanceof Response) return told(answered, null);
    const headers = { 'content-type': 'application/json', 'x-request-id': requestId };
    return told(new Response(JSON.stringify(answered), { headers }), null);
  } catch (error) {
    const known = asAgentEvalError(error);
    if (known.code === 'internal_error') options.onFault(known, requestId);
    const allowed = known.code === 'method_not_allowed' ? known.details.allow : undefined;
    const extra: Record<string, string> = {};
    if (typeof allowed === 'string') extra.allow = allowed;
    if (!options.accepting()) extra.connection = 'close';
    return told(errorResponse(known, requestId, extra), known);
  }
}

/** What the socket adds to a request; without a port, as in tests, there is nothing. */
function bindings(c: AppContext): Bindings['Bindings'] | undefined {
  return c.env;
}

/** Reads headers where Node has them already: asking the request would first build a Headers object. */
function headerReader(c: AppContext): HeaderReader {
  const headers = bindings(c)?.incoming?.headers;
  if (headers === undefined) return (name) => c.req.header(name);
  return (name) => {
    const value = headers[name];
    return Array.isArray(value) ? value[0] : value;
  };
}

function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w.:-]{1,128}$/.test(given) ? given : newId();
}

/** Stops when the connection closes before the answer has been sent. */
function whenGone(outgoing: ServerResponse | undefined): Cancellation | undefined {
  if (outgoing === undefined) return undefined;
  return {
    get stopped() {
      return outgoing.destroyed;
    },
    onStop(fn) {
      if (outgoing.destroyed) fn();
      else outgoing.once('close', fn);
      return () => outgoing.removeListener('close', fn);
    },
  };
}

const GET_ONLY = ['/healthz', '/openapi.json', '/metrics'];

/** 405 where the path exists for another method, 404 where it does not. */
function refusePath(path: string): never {
  const allowed: string[] = Object.values(METHODS)
    .filter((method) => pathPattern(method.path).test(path))
    .map((method) => method.http);
  if (GET_ONLY.includes(path)) allowed.push('GET');
  if (allowed.length > 0) {
    throw new AgentEvalError('method_not_allowed', `Use ${allowed.join(' or ')} for ${path}.`, {
      allow: allowed.join(', '),
    });
  }
  throw new AgentEvalError('not_found', 'No such path: see /openapi.json for those that exist.');
}

function pathPattern(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`);
}
