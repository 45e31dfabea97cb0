export {
  AgentEvalError,
  type ChatRequest,
  type ChatResult,
  type CompareResult,
  type ErrorCode,
  type FailureMode,
  type JudgeResult,
  parseRubric,
  type Rubric,
  type RubricDetail,
  type RubricDimension,
  type RubricInput,
  type RubricList,
  type Usage,
  type VersionInfo,
  type Win,
} from '@tangle-network/agent-eval-contract';
export {
  type AgentEval,
  type CallOptions,
  type CompareInput,
  createAgentEval,
  type EngineOptions,
  type JudgeInput,
} from './entries/library.js';
export { passesGate } from './judge/score.js';
export { readRubricFile } from './rubrics/file.js';
export { rubricVersion } from './rubrics/version.js';
