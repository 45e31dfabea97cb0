import type { Issue } from './issues.js';
import type { JudgeRequest } from './judge.js';

/** What the options of a panel must satisfy together. */
export function panelIssues({
  model,
  models,
  samples = 1,
  quorum = 1,
}: Pick<JudgeRequest, 'model' | 'models' | 'samples' | 'quorum'>): Issue[] {
  const issues: Issue[] = [];
  if (model !== undefined && models !== undefined) {
    issues.push({ path: 'models', message: 'give either model or models, not both' });
  }
  const seen = new Set<string>();
  for (const [i, name] of (models ?? []).entries()) {
    if (seen.has(name)) {
      const message = 'is named twice; raise samples to ask a model several times';
      issues.push({ path: `models.${i}`, message });
    }
    seen.add(name);
  }
  const members = samples * (models?.length ?? 1);
  if (quorum > members) {
    issues.push({ path: 'quorum', message: `is more than the ${members} verdicts asked for` });
  }
  return issues;
}

/** Each sample has the next seed, and the last one must still be an exact number. */
export function seedIssues({
  seed = 0,
  samples = 1,
}: Pick<JudgeRequest, 'seed' | 'samples'>): Issue[] {
  if (seed <= Number.MAX_SAFE_INTEGER - (samples - 1)) return [];
  return [
    { path: 'seed', message: `is too large for ${samples} samples, each with the next seed` },
  ];
}
