import { logitOf } from './common.mjs';

export function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** How often a member of `high` lies above one of `low`; a tie counts half. 0.5 is chance. */
export function auc(high, low) {
  let won = 0;
  for (const above of high) {
    for (const below of low) won += above > below ? 1 : above === below ? 0.5 : 0;
  }
  return won / (high.length * low.length);
}

/**
 * Splits texts into those that should answer a check as expected and those that should not.
 * Dimensions go by the label; a bad text that is `fine` in a dimension is left out there. Failure modes
 * and wins go by `shows`, where the set has it.
 */
export function classesFor(check, texts) {
  const labelled = texts.filter(
    ({ label, fine = [] }) => label !== 'mixed' && !fine.includes(check.id),
  );
  if (check.kind !== 'dimension' && texts.some(({ shows }) => shows !== undefined)) {
    const isShown = ({ shows = [] }) => shows.includes(check.id);
    return [texts.filter(isShown), texts.filter((text) => !isShown(text))];
  }
  const sought = check.kind === 'failure mode' ? 'bad' : 'good';
  return [
    labelled.filter(({ label }) => label === sought),
    labelled.filter(({ label }) => label !== sought),
  ];
}

/** Measured logits of both classes, turned so that high means the expected answer. */
export function logitsFor(check, texts, results) {
  return classesFor(check, texts).map((members) =>
    members.map((text) => logitOf(results, text, check)).filter((logit) => logit !== undefined),
  );
}

/** Middle and half distance of the two class means. */
export function constantsFrom([high, low]) {
  const [above, below] = [mean(high), mean(low)];
  return { midpoint: (above + below) / 2, halfGap: (above - below) / 2 };
}

export function sigmoid(value) {
  return 1 / (1 + Math.exp(-value));
}

/** A text's composite and dimension scores, between 0 and 1, as the engine computes them. */
export function scoresOf(text, { rubric, calibration }, results) {
  const constants = new Map(calibration.map((row) => [`${row.expect} ${row.question}`, row]));
  const scores = {};
  let weighted = 0;
  let weights = 0;
  for (const { id, checks, weight } of rubric.dimensions) {
    scores[id] = share(checks, (check) => {
      const row = constants.get(`${check.expect} ${check.question}`);
      return sigmoid((2 * (logitOf(results, text, check) - row.midpoint)) / row.halfGap);
    });
    weighted += weight * scores[id];
    weights += weight;
  }
  return { composite: weighted / weights, ...scores };
}

function share(checks, chance) {
  const total = checks.reduce((sum, { weight = 1 }) => sum + weight, 0);
  return checks.reduce((sum, check) => sum + (check.weight ?? 1) * chance(check), 0) / total;
}
