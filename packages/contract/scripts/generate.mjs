// Writes generated/*.json from the contract; with --check, fails when a file differs by a byte.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadTypeScript } from './load-typescript.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const target = path.join(root, 'generated');

function methodTable(contract) {
  const id = (schema) => contract.wireTypes.get(schema).id;
  return Object.entries(contract.METHODS).map(([name, method]) => ({
    name,
    http: method.http,
    path: method.path,
    params: id(method.params),
    result: id(method.result),
    auth: method.auth,
    stdio: method.stdio,
    lines: method.lines ?? false,
    summary: method.summary,
  }));
}

const contract = await loadTypeScript({ entryPoints: [path.join(root, 'src/index.ts')] });
const files = {
  'schema.json': {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $defs: contract.jsonSchemaBundle(),
  },
  'openapi.json': contract.openApiDocument(),
  'methods.json': {
    package: contract.PACKAGE_NAME,
    wireVersion: contract.WIRE_VERSION,
    methods: methodTable(contract),
  },
  'errors.json': Object.entries(contract.ERRORS).map(([code, row]) => ({ code, ...row })),
};

const check = process.argv.includes('--check');
let stale = 0;
await mkdir(target, { recursive: true });
for (const [name, value] of Object.entries(files)) {
  const text = `${JSON.stringify(value, null, 2)}\n`;
  const file = path.join(target, name);
  if (!check) {
    await writeFile(file, text);
    continue;
  }
  if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    stale += 1;
    process.stderr.write(`${path.relative(process.cwd(), file)} is stale: run make gen\n`);
  }
}
process.exitCode = stale === 0 ? 0 : 1;
