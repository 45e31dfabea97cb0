import type {
  AgentEvalError,
  JudgeRequest,
  VersionInfo,
} from '@tangle-network/agent-eval-contract';
import type { Cancellation } from '../core/cancel.js';
import type { Clock } from '../core/clock.js';
import type { Observer } from '../core/observer.js';
import type { Memory } from '../judge/memory.js';
import type { YesNoModel } from '../providers/local/types.js';
import type { ModelClient } from '../providers/types.js';
import type { RubricCatalog } from '../rubrics/catalog.js';

export interface TextModel {
  kind: 'text';
  client: ModelClient;
  model: string;
  /** Address of the endpoint, without anything secret. */
  address: string;
}

/** A model to judge with: one that gives scores, or one that answers yes/no questions. */
export type JudgeModel = TextModel | { kind: 'checks'; model: YesNoModel };

/** What the handlers need; made once for a process. */
export interface ApiDeps {
  version: VersionInfo;
  rubrics: RubricCatalog;
  clock: Clock;
  defaultTimeoutMs: number;
  allowUncalibrated: boolean;
  /** Remembers verdicts; null where no cache is wanted. */
  memory: Memory | null;
  /** Looks on; null where nobody does. */
  observer: Observer | null;
  /** Told of every error that is a fault of the engine. */
  onFault(error: AgentEvalError): void;
  resolveModel(choice: Pick<JudgeRequest, 'model' | 'provider'>): Promise<JudgeModel>;
}

/** What a call carries besides its parameters. */
export interface Call {
  /** Stops when the caller cancels or goes away. */
  cancel?: Cancellation | undefined;
  /** Whether the request may name its own endpoint and key. */
  allowProvider: boolean;
}
