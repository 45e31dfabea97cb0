import { AgentEvalError, type JudgeResult, type Rubric } from '@tangle-network/agent-eval-contract';
import { dispatch } from '../api/dispatch.js';
import type { Environment } from '../config/env.js';
import type { Resolved } from '../config/resolve.js';
import type { RemoteRoute } from '../config/routing.js';
import { composeEngine, pricesOf } from '../entries/compose.js';
import type { DoctorCheck } from './doctor-check.js';

/** What the model costs, as far as that is known. */
export async function priceCheck(
  { url, model }: RemoteRoute,
  { settings }: Resolved,
): Promise<DoctorCheck> {
  const name = 'price';
  const price = (await pricesOf(settings.prices)).at(url.origin).price([model]);
  if (price === null) {
    const found = `${model}: unknown, so costUsd is null; --prices FILE says what it costs`;
    return { name, state: 'note', found };
  }
  const { input, output, cachedInput = input } = price;
  const found = `${model}: $${input} in, $${cachedInput} cached, $${output} out for a million tokens`;
  return { name, state: 'ok', found };
}

const RUBRIC: Rubric = {
  name: 'probe',
  description: 'Whether a text is a greeting.',
  systemPrompt: 'You judge texts.',
  dimensions: [
    { id: 'greeting', description: 'The text is a greeting.', weight: 1, min: 0, max: 1 },
  ],
  failureModes: [],
  wins: [],
};

/** What the endpoint takes, learned from one small judgement; it is paid, so only where it was asked for. */
export async function ladderCheck(
  env: Environment,
  resolved: Resolved,
  probe: boolean,
): Promise<DoctorCheck> {
  const name = 'ladder';
  if (!probe) {
    const found = 'not asked; --probe makes one small judgement and tells what the endpoint takes';
    return { name, state: 'note', found };
  }
  const engine = await composeEngine({ env, resolved, oneShot: true });
  try {
    const params = { rubric: RUBRIC, content: 'Hello!', seed: 1, cache: 'bypass' };
    const result = (await dispatch(engine.deps, 'judge', params, {
      allowProvider: false,
    })) as JudgeResult;
    const { replyMode, droppedParams, attempts, usage } = result;
    const dropped =
      droppedParams.length === 0 ? 'every parameter' : `not ${droppedParams.join(', ')}`;
    const tokens =
      usage === null ? 'usage unknown' : `${usage.inputTokens} + ${usage.outputTokens} tokens`;
    const found = `${replyMode}, ${dropped}; ${attempts} request${attempts === 1 ? '' : 's'}, ${tokens}`;
    return { name, state: 'ok', found };
  } catch (error) {
    if (!(error instanceof AgentEvalError)) throw error;
    return { name, state: 'problem', found: error.code, mend: error.message };
  } finally {
    await engine.close();
  }
}
