import type { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { asAgentEvalError } from '../api/dispatch.js';

const DEFAULT_RETRY_AFTER_S = 1;

/** Renders any error in the one shape of the wire. */
export function errorResponse(
  error: unknown,
  requestId: string,
  extra: Record<string, string> = {},
): Response {
  const known = asAgentEvalError(error);
  const status = known.row.http ?? 500;
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'x-request-id': requestId,
    ...extra,
  };
  if (known.code === 'unauthorized') headers['www-authenticate'] = 'Bearer';
  if (status === 503 && known.retryable) headers['retry-after'] = String(retryAfterS(known));
  return new Response(JSON.stringify({ error: known.toBody() }), { status, headers });
}

function retryAfterS(error: AgentEvalError): number {
  const asked = error.details.retryAfterMs;
  return typeof asked === 'number' ? Math.max(1, Math.ceil(asked / 1000)) : DEFAULT_RETRY_AFTER_S;
}
