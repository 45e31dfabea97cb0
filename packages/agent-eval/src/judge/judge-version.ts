import type { PoolMode, ScoreMode } from '@tangle-network/agent-eval-contract';
import { canonicalJson, sha256Hex } from '../core/hash.js';

/** What a judgement was asked for, as far as it can move scores. */
export interface JudgeIdentity {
  scoreMode: ScoreMode;
  promptVersion: string;
  sampling: Sampling | null;
  /** In checks mode: the questions with the calibration used for each. */
  checks: unknown;
}

interface Sampling {
  temperature: number;
  seed: number | null;
  maxTokens: number | null;
  /** Absent where nothing was asked, so that older verdicts stay comparable. */
  reasoningEffort?: string;
}

/** What a caller asked of the sampling, with the default; null where nothing was asked. */
export function samplingOf(options: {
  temperature?: number | undefined;
  seed?: number | undefined;
  maxTokens?: number | undefined;
  reasoningEffort?: string | undefined;
}): Sampling {
  const { temperature = DEFAULT_TEMPERATURE, seed = null, maxTokens = null } = options;
  const { reasoningEffort } = options;
  const sampling = { temperature, seed, maxTokens };
  return reasoningEffort === undefined ? sampling : { ...sampling, reasoningEffort };
}

const DEFAULT_TEMPERATURE = 0;

const known = new Map<string, string>();
const MAX_KNOWN = 512;

/** Hash over what was requested; known before the call. What was learned at run time is not part of it. */
export function judgeVersion(identity: JudgeIdentity): string {
  return hashed(identity);
}

/** The same for several verdicts that are pooled: what each model is asked, how often, and what is made of it. */
export function panelVersion(panel: {
  versions: readonly (string | null)[];
  samples: number;
  pool: PoolMode;
}): string {
  return hashed({ panel });
}

/** The same for comparisons of two texts. */
export function compareVersion(comparison: {
  promptVersion: string;
  sampling: JudgeIdentity['sampling'];
  swap: boolean;
  samples: number;
}): string {
  return hashed({ comparison });
}

function hashed(identity: object): string {
  // Built in one place for each mode, so the same identity has the same spelling.
  const key = JSON.stringify(identity);
  const found = known.get(key);
  if (found !== undefined) return found;
  const version = `judge@sha256-rfc8785:${sha256Hex(canonicalJson(identity))}`;
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(key, version);
  return version;
}
