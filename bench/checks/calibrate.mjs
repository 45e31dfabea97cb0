// Writes the calibration of a rubric's checks from the measured tune texts into the rubric file.
import {
  checksOf,
  need,
  readFlags,
  readJson,
  readResults,
  readTexts,
  stop,
  writeJson,
} from './common.mjs';
import { constantsFrom, logitsFor } from './scoring.mjs';

const flags = readFlags(process.argv.slice(2), ['texts', 'rubric', 'results']);
const file = need(flags, 'rubric');
const entry = readJson(file);
const results = readResults(need(flags, 'results'));
const tune = readTexts(need(flags, 'texts')).filter(({ split }) => split === 'tune');

const rows = new Map();
for (const check of checksOf(entry.rubric)) {
  const { question, expect } = check;
  // Dimensions come first: where a pattern shares a check with one, the constants are shared too.
  const key = `${expect} ${question}`;
  if (rows.has(key)) continue;
  const logits = logitsFor(check, tune, results);
  if (logits.some((values) => values.length === 0)) {
    stop(`"${question}" has no measured tune texts on one side: run measure first.`);
  }
  const { midpoint, halfGap } = constantsFrom(logits);
  if (halfGap <= 0)
    stop(`"${question}" is answered the wrong way round: drop it or turn "expect".`);
  rows.set(key, {
    model: results.model,
    question,
    expect,
    midpoint: rounded(midpoint),
    halfGap: rounded(halfGap),
  });
}
// Constants of other models are none of ours.
const others = entry.calibration.filter(({ model }) => model !== results.model);
entry.calibration = [...others, ...rows.values()];
writeJson(file, entry);
console.log(`${file}: ${rows.size} rows.`);

function rounded(value) {
  return Number(value.toFixed(4));
}
