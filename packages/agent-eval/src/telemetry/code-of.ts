import { AgentEvalError } from '@tangle-network/agent-eval-contract';

/** The code that a failure is counted under. */
export function codeOf(error: unknown): string {
  return error instanceof AgentEvalError ? error.code : 'internal_error';
}
