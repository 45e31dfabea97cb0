import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { Deadline } from '../core/deadline.js';

/** The error of a call that its deadline or its caller stopped; null for one that nothing stopped. */
export function stopError(deadline: Deadline): AgentEvalError | null {
  switch (deadline.stopReason()) {
    case 'timeout':
      return new AgentEvalError(
        'timeout',
        `No verdict within the deadline of ${deadline.timeoutMs} ms: raise timeoutMs of the request or --timeout-ms.`,
        { timeoutMs: deadline.timeoutMs },
      );
    case 'cancelled':
      return new AgentEvalError('cancelled', 'The caller cancelled the judgement.');
    default:
      return null;
  }
}
