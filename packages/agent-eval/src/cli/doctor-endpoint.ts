import type { Environment } from '../config/env.js';
import type { RemoteRoute } from '../config/routing.js';
import { cancellationOf } from '../core/cancel.js';
import { timeoutSignal } from '../core/clock.js';
import { displayUrl, redactor } from '../core/redact.js';
import { beginning } from '../core/text.js';
import { transportFactory } from '../entries/compose.js';
import { openingHeaders, secretsOf } from '../providers/registry.js';
import type { DoctorCheck } from './doctor-check.js';

const TIMEOUT_MS = 5_000;

/** Asks the endpoint for its models, the way judgements go: whether it answers, and whether it takes the key. */
export async function endpointCheck(
  { url, apiKey, dialect }: RemoteRoute,
  env: Environment,
): Promise<DoctorCheck> {
  const endpoint = { ...url, apiKey, dialect };
  const path = `${url.path}/models${url.query}`;
  const shown = displayUrl(`${url.origin}${path}`);
  const problem = (found: string, mend: string): DoctorCheck => ({
    name: 'endpoint',
    state: 'problem',
    found: `${shown} ${found}`,
    mend,
  });
  const transport = await transportFactory(env, false)(endpoint, 1);
  try {
    const { status } = await transport.send({
      method: 'GET',
      path,
      headers: await openingHeaders(endpoint),
      body: '',
      cancel: cancellationOf(timeoutSignal(TIMEOUT_MS)),
    });
    if (status === 401 || status === 403) {
      return problem(`refuses the key (${status})`, 'check the API key');
    }
    if (status >= 500) return problem(`fails (${status})`, 'try again later, or check the server');
    return { name: 'endpoint', state: 'ok', found: `${shown} answers (${status})` };
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'no reason given';
    const hidden = beginning(redactor(secretsOf(endpoint))(reason), 120);
    return problem(`does not answer (${hidden})`, 'check the base URL and that the server runs');
  } finally {
    await transport.close();
  }
}
