// Prints how well a rubric's checks tell the stored texts apart, as Markdown.
// With --questions instead of --rubric: candidates, best first, by the tune texts only.
import {
  checksOf,
  logitOf,
  need,
  readFlags,
  readJson,
  readResults,
  readTexts,
  stop,
} from './common.mjs';
import { auc, logitsFor, mean, scoresOf } from './scoring.mjs';

const flags = readFlags(process.argv.slice(2), ['texts', 'rubric', 'questions', 'results']);
const texts = readTexts(need(flags, 'texts'));
const results = readResults(need(flags, 'results'));
const ofSplit = (split) => texts.filter((text) => text.split === split);

if (flags.rubric) printRubric(readJson(flags.rubric));
else if (flags.questions) printCandidates(readJson(flags.questions));
else stop('Give --rubric FILE.json or --questions FILE.json.');

function printRubric({ rubric, calibration, smallModels }) {
  console.log(`### ${rubric.name}\n`);
  const checks = checksOf(rubric);
  if (checks.length === 0) {
    console.log(`No checks. ${smallModels.reason ?? ''}`);
    return;
  }
  printRow(['for', 'question', 'expected', 'AUC tune', 'AUC held-out']);
  printRow(Array(5).fill('---'));
  for (const check of checks) {
    const aucs = ['tune', 'held-out'].map((split) => aucOf(check, ofSplit(split)));
    printRow([check.id, check.question, check.expect, ...aucs]);
  }
  console.log('');
  printScores(rubric, {
    rubric,
    calibration: calibration.filter(({ model }) => model === results.model),
  });
}

function printScores(rubric, entry) {
  const { dimensions } = rubric;
  const unmeasured = texts.find((text) =>
    checksOf(rubric).some((check) => logitOf(results, text, check) === undefined),
  );
  if (unmeasured) stop(`The text ${unmeasured.id} is not measured: run measure first.`);
  const names = ['composite', ...dimensions.map(({ id }) => id)];
  const columns = ['texts', 'pairs good > bad', ...names.map((name) => `AUC ${name}`)];
  printRow([...columns, 'mean composite good / mixed / bad']);
  printRow(Array(columns.length + 1).fill('---'));
  for (const split of ['tune', 'held-out']) {
    const scored = ofSplit(split).map((text) => ({
      ...text,
      scores: scoresOf(text, entry, results),
    }));
    const of = (label, name) =>
      scored
        .filter((text) => text.label === label && !text.fine?.includes(name))
        .map(({ scores }) => scores[name]);
    const aucs = names.map((name) => shown(auc(of('good', name), of('bad', name))));
    const means = ['good', 'mixed', 'bad'].map((label) => shown(mean(of(label, 'composite'))));
    printRow([split, pairsWon(scored), ...aucs, means.join(' / ')]);
  }
  console.log('');
}

function printCandidates(questions) {
  const rows = questions.map((question) => {
    const check = { kind: 'dimension', question, expect: 'yes' };
    const value = auc(...logitsFor(check, ofSplit('tune'), results));
    return { question, value: Math.max(value, 1 - value), expect: value < 0.5 ? 'no' : 'yes' };
  });
  printRow(['question', 'expected', 'AUC tune']);
  printRow(Array(3).fill('---'));
  for (const { question, value, expect } of rows.sort((a, b) => b.value - a.value)) {
    printRow([question, expect, shown(value)]);
  }
}

function aucOf(check, members) {
  const [high, low] = logitsFor(check, members, results);
  return high.length > 0 && low.length > 0 ? shown(auc(high, low)) : '–';
}

function pairsWon(scored) {
  const composites = new Map(scored.map((text) => [`${text.pair} ${text.label}`, text.scores]));
  const pairs = [...new Set(scored.map(({ pair }) => pair))]
    .map((pair) => ['good', 'bad'].map((label) => composites.get(`${pair} ${label}`)))
    .filter((members) => members.every(Boolean));
  const won = pairs.filter(([good, bad]) => good.composite > bad.composite);
  return `${won.length} of ${pairs.length}`;
}

function printRow(cells) {
  console.log(`| ${cells.join(' | ')} |`);
}

function shown(value) {
  return Number.isNaN(value) ? '–' : value.toFixed(2);
}
