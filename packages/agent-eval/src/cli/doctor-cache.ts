import { existsSync } from 'node:fs';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { inspectVerdictFile } from '../cache/verdict-file.js';
import type { Settings } from '../config/resolve.js';
import { systemClock } from '../core/clock.js';
import { loadSqlite } from '../store/sqlite.js';
import type { DoctorCheck } from './doctor-check.js';

/** Whether there is SQLite, and whether the cache that was chosen can be used. Changes nothing. */
export async function cacheChecks({ cache }: Settings): Promise<DoctorCheck[]> {
  const store = storeCheck(cache !== null);
  if (cache === null) {
    const found = 'none chosen; --cache FILE or AGENT_EVAL_CACHE remembers verdicts';
    return [store, { name: 'cache', state: 'note', found }];
  }
  if (store.state !== 'ok')
    return [store, { name: 'cache', state: 'problem', found: 'unavailable' }];
  return [store, await fileCheck(cache)];
}

function storeCheck(needed: boolean): DoctorCheck {
  const name = 'store';
  try {
    const { library } = loadSqlite();
    return { name, state: 'ok', found: library === 'node:sqlite' ? 'SQLite of Node' : library };
  } catch (error) {
    if (!(error instanceof AgentEvalError)) throw error;
    const found = 'no SQLite in this Node, and none installed';
    if (needed) return { name, state: 'problem', found, mend: error.message };
    return { name, state: 'note', found: `${found}; only the cache needs it` };
  }
}

async function fileCheck(file: string): Promise<DoctorCheck> {
  const name = 'cache';
  if (!existsSync(file)) {
    return { name, state: 'note', found: `${file} is missing; the first judgement makes it` };
  }
  try {
    const seen = await inspectVerdictFile(file, systemClock);
    if (seen === 'corrupt') {
      const mend = 'nothing to do: the first judgement moves it aside and begins anew';
      return { name, state: 'problem', found: `${file} is damaged`, mend };
    }
    const size = `${(seen.bytes / 1024 / 1024).toFixed(1)} MB`;
    return { name, state: 'ok', found: `${file}, ${seen.entries} verdicts, ${size}` };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { name, state: 'problem', found: `${file} can't be used`, mend: why };
  }
}
