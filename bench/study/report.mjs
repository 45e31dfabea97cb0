// The table of the study: how well good and bad texts come apart in each mode.

/** Chance that a good text scores above a bad one, ties counting half (area under the ROC curve). */
function areaUnderCurve(good, bad) {
  if (good.length === 0 || bad.length === 0) return Number.NaN;
  let wins = 0;
  for (const a of good) for (const b of bad) wins += a > b ? 1 : a === b ? 0.5 : 0;
  return wins / (good.length * bad.length);
}

function scoredRow(name, rubric, rows) {
  const scored = rows.filter(({ composite }) => composite !== undefined);
  const of = (label) => scored.filter((row) => row.label === label);
  const pairs = of('good').flatMap((good) => {
    const bad = of('bad').find(({ pair }) => pair === good.pair);
    return bad === undefined ? [] : [good.composite - bad.composite];
  });
  const won = pairs.filter((difference) => difference > 0).length;
  const even = pairs.filter((difference) => difference === 0).length;
  const area = areaUnderCurve(
    of('good').map(({ composite }) => composite),
    of('bad').map(({ composite }) => composite),
  );
  return [name, rubric, area.toFixed(2), `${won} of ${pairs.length}`, `${even}`, '', ...rest(rows)];
}

function comparedRow(name, rubric, rows) {
  const won = rows.filter(({ winner, better }) => winner === better).length;
  const even = rows.filter(({ winner }) => winner === 'tie').length;
  const flipped = rows.filter((row) => row.flipped).length;
  const known = rows.filter(({ winner }) => winner !== undefined && winner !== null).length;
  return [name, rubric, '', `${won} of ${known}`, `${even}`, `${flipped}`, ...rest(rows)];
}

function rest(rows) {
  const failed = rows.filter(({ error, winner }) => error !== undefined || winner === null).length;
  const seconds = rows.map((row) => row.seconds).sort((a, b) => a - b);
  return [`${failed}`, seconds[seconds.length >> 1].toFixed(1)];
}

/** Pairs of one length stand in rows of their own. */
const groupOf = ({ rubric, set }) => (set === 'matched' ? `${rubric}, same length` : rubric);

export function report(results) {
  const head = ['mode', 'rubric', 'AUC', 'pairs won', 'ties', 'flips', 'unscored', 'median s'];
  const body = Object.entries(results).flatMap(([name, answers]) => {
    const all = Object.values(answers);
    const groups = [...new Set(all.map(groupOf))];
    return groups.map((group) => {
      const rows = all.filter((row) => groupOf(row) === group);
      return (name === 'compare' ? comparedRow : scoredRow)(name, group, rows);
    });
  });
  return [head, head.map(() => '---'), ...body].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

export function resultsPage(table, model) {
  return `# How a small model judges, by mode

Written by \`bench/study/study.mjs --report --write\`. Model: ${model}, at 4 bits, through the built engine. Texts:
\`texts.mjs\`, pairs on one topic of which one is good and one bad; "same length" are those of
\`matched-texts.mjs\`, in which the bad text is about as long as the good one. In "checks" the engine reads probabilities from the
model itself; every other mode goes through \`local-server.mjs\` as it would to any provider, in replies held to the
schema.

AUC: the chance that a good text scores above a bad one, a tie counting half; 0.5 is guessing, and below it the
bad texts score higher. Pairs won: pairs in which the good text scored higher, or won the comparison. Ties: pairs
in which it did not come out. Flips: comparisons in which the place decided. Seconds on a
processor of two cores that other programs used too: they can't be compared between modes.

${table}
`;
}
