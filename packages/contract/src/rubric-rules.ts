import type { Issue } from './issues.js';
import { MIN_TOTAL_WEIGHT, type Rubric } from './rubric.js';

/**
 * What a rubric must satisfy beyond its JSON Schema: scales that go upwards, weights that add up to
 * something, ids that are unique. Python has the same rules; `tests/vectors/rubric-rules.json` pins both.
 */
export function rubricIssues(rubric: Rubric, at = ''): Issue[] {
  const prefix = at === '' ? '' : `${at}.`;
  return [
    ...rubric.dimensions.flatMap((dimension, i) => {
      const path = `${prefix}dimensions.${i}`;
      const issues: Issue[] = [];
      if (!(dimension.min < dimension.max)) {
        issues.push({ path: `${path}.max`, message: 'must be greater than min' });
      } else if (!Number.isFinite(dimension.max - dimension.min)) {
        issues.push({ path: `${path}.max`, message: 'the scale is too wide: max - min overflows' });
      }
      return [...issues, ...checkWeightIssues(dimension.checks, path)];
    }),
    ...weightIssues(
      rubric.dimensions.map((dimension) => dimension.weight),
      `${prefix}dimensions`,
    ),
    ...(['dimensions', 'failureModes', 'wins'] as const).flatMap((list) =>
      duplicateIssues(
        rubric[list].map((entry) => entry.id),
        `${prefix}${list}`,
      ),
    ),
    ...(['failureModes', 'wins'] as const).flatMap((list) =>
      rubric[list].flatMap((entry, i) => checkWeightIssues(entry.checks, `${prefix}${list}.${i}`)),
    ),
  ];
}

function checkWeightIssues(checks: { weight: number }[] | undefined, path: string): Issue[] {
  if (checks === undefined) return [];
  return weightIssues(
    checks.map((check) => check.weight),
    `${path}.checks`,
  );
}

function weightIssues(weights: number[], path: string): Issue[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total >= MIN_TOTAL_WEIGHT && Number.isFinite(total)) return [];
  return [{ path, message: `weights must add up to a finite number of at least 1e-9` }];
}

function duplicateIssues(ids: string[], path: string): Issue[] {
  const seen = new Set<string>();
  return ids.flatMap((id, i) => {
    if (!seen.has(id)) {
      seen.add(id);
      return [];
    }
    return [{ path: `${path}.${i}.id`, message: 'is used twice in this list' }];
  });
}
