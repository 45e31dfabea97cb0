import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Reads `--name value` pairs; a name outside `known` ends the program with a hint. */
export function readFlags(argv, known) {
  const flags = {};
  for (let at = 0; at < argv.length; at += 2) {
    const name = argv[at].replace(/^--/, '');
    const value = argv[at + 1];
    if (!known.includes(name) || value === undefined) {
      stop(
        `${argv[at]} is no use here. Flags: ${known.map((flag) => `--${flag} VALUE`).join(', ')}`,
      );
    }
    flags[name] = value;
  }
  return flags;
}

/** Ends the program with a message instead of a stack trace. */
export function stop(message) {
  console.error(message);
  process.exit(2);
}

/** The flag's value, or the environment's, or the end of the program. */
export function need(flags, name, variable) {
  const value = flags[name] ?? (variable ? process.env[variable] : undefined);
  if (!value) stop(`Give --${name}${variable ? ` or set ${variable}` : ''}.`);
  return value;
}

export function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Writes beside the file first, so that a stop in between leaves the old file whole. */
export function writeJson(file, value) {
  writeFileSync(`${file}.new`, `${JSON.stringify(value, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}

export function readTexts(file) {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

/** Every check of a rubric, with where it belongs. */
export function checksOf(rubric) {
  const groups = [
    ['dimension', rubric.dimensions],
    ['failure mode', rubric.failureModes],
    ['win', rubric.wins],
  ];
  return groups.flatMap(([kind, items = []]) =>
    items.flatMap(({ id, checks = [] }) =>
      checks.map(({ question, expect, weight = 1 }) => ({ kind, id, question, expect, weight })),
    ),
  );
}

/** What identifies a text in the results: the same words under another id are not asked again. */
export function textKey(text) {
  return JSON.stringify([text.context ?? null, text.content]);
}

/** Measured logits: `rows[text key][question]` is ln(P(yes) / P(no)). */
export function readResults(file) {
  return existsSync(file) ? readJson(file) : { model: null, rows: {} };
}

export function logitOf(results, text, { question, expect }) {
  const logit = results.rows[textKey(text)]?.[question];
  if (logit === undefined) return undefined;
  return expect === 'no' ? -logit : logit;
}
