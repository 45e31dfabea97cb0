import type { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { Judgement } from '../judge.js';

export interface Scored {
  /** Model as it was asked for. */
  model: string;
  judgement: Judgement;
}

export interface Failed {
  model: string;
  error: AgentEvalError;
}

/** What became of one member of a panel. */
export type Member = Scored | Failed;
