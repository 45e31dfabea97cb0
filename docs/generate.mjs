// Fills the tables in docs/*.md from the tables the code uses; with --check, fails when one differs.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadTypeScript } from '../packages/contract/scripts/load-typescript.mjs';

const docs = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(docs, '..');
const SOURCES = `
  export { OPTION_ROWS } from './packages/agent-eval/src/config/options.ts';
  export { PROVIDERS } from './packages/agent-eval/src/config/known-providers.ts';
  export { ERRORS, METHODS } from './packages/contract/src/index.ts';
`;

function markdown(head, rows) {
  const line = (cells) =>
    `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const code = (text) => `\`${text}\``;

function optionsTable({ OPTION_ROWS }) {
  const rows = OPTION_ROWS.map((row) => [
    row.flag === null ? '' : code(row.flag),
    row.env.map(code).join(', '),
    row.fallback === null ? '' : code(row.fallback),
    row.secret ? `${row.help} (secret: never a flag, never shown)` : row.help,
    row.commands.join(', ') || 'all that judge',
  ]);
  return markdown(['flag', 'variable', 'default', 'what it does', 'commands'], rows);
}

function errorsTable({ ERRORS }) {
  const rows = Object.entries(ERRORS).map(([name, row]) => [
    code(name),
    row.http ?? '',
    row.retryable ? 'yes' : 'no',
    row.exit,
    code(row.python),
    row.when,
  ]);
  return markdown(['code', 'HTTP', 'retryable', 'exit', 'Python', 'when'], rows);
}

function methodsTable({ METHODS }) {
  const rows = Object.entries(METHODS).map(([name, row]) => [
    code(name),
    code(`${row.http} ${row.path}`),
    row.stdio ? 'yes' : 'no',
    row.auth ? 'yes' : 'no',
    row.summary,
  ]);
  return markdown(['method', 'HTTP', 'stdio', 'token', 'what it does'], rows);
}

function providersTable({ PROVIDERS }) {
  const rows = Object.entries(PROVIDERS).map(([name, row]) => [
    code(`${name}/`),
    row.dialect,
    row.keys.map(code).join(', '),
    [...row.baseUrls, ...(row.resource ? [row.resource.variable] : [])].map(code).join(', '),
    row.baseUrl ?? 'yours',
  ]);
  return markdown(['prefix', 'dialect', 'key', 'base URL from', 'else'], rows);
}

async function rubricsTable() {
  const folder = path.join(root, 'packages/agent-eval/src/rubrics/builtin');
  const files = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort();
  const rows = [];
  for (const file of files) {
    const { rubric, smallModels } = JSON.parse(await readFile(path.join(folder, file), 'utf8'));
    const dimensions = rubric.dimensions.map(({ id, weight }) => `${id} ${weight}`).join(', ');
    const small = smallModels.ok ? 'yes' : `no: ${smallModels.reason}`;
    rows.push([code(rubric.name), rubric.description, dimensions, small]);
  }
  return markdown(['name', 'what it judges', 'dimensions and weights', 'small models'], rows);
}

/** Results of the study of questions for small models, as its report wrote them. */
async function smallModelsTable() {
  const folder = path.join(root, 'bench/checks');
  const files = (await readdir(folder)).filter((name) => /^results.*\.md$/.test(name)).sort();
  const texts = await Promise.all(files.map((name) => readFile(path.join(folder, name), 'utf8')));
  return texts.map((text) => text.replace(/^# .*\n+/, '').trim()).join('\n\n');
}

/** The table of the study of modes, without the words above it. */
async function modesTable() {
  const text = await readFile(path.join(root, 'bench/study/results.md'), 'utf8');
  return text.slice(text.indexOf('\n|')).trim();
}

const tables = await loadTypeScript({
  stdin: { contents: SOURCES, resolveDir: root, loader: 'ts' },
});
const made = {
  options: optionsTable(tables),
  errors: errorsTable(tables),
  methods: methodsTable(tables),
  providers: providersTable(tables),
  rubrics: await rubricsTable(),
  smallModels: await smallModelsTable(),
  smallModelModes: await modesTable(),
};

const check = process.argv.includes('--check');
let stale = 0;
for (const name of (await readdir(docs)).filter((file) => file.endsWith('.md'))) {
  const file = path.join(docs, name);
  const before = await readFile(file, 'utf8');
  const after = before.replace(
    /(<!-- table: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_whole, start, table, end) => {
      if (made[table] === undefined)
        throw new Error(`${name} asks for an unknown table "${table}"`);
      return `${start}${made[table]}\n${end}`;
    },
  );
  if (after === before) continue;
  if (check) {
    stale += 1;
    process.stderr.write(`docs/${name} is stale: run make gen\n`);
  } else {
    await writeFile(file, after);
  }
}
process.exitCode = stale === 0 ? 0 : 1;
