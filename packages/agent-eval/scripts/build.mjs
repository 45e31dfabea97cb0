// Builds dist/: the engine as a folder that runs on its own (dist/engine), and the library for TypeScript.
import { chmod, cp, mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const dist = path.join(root, 'dist');
const manifest = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
const methods = JSON.parse(
  await readFile(path.join(root, '../contract/generated/methods.json'), 'utf8'),
);
const contractName = '@tangle-network/agent-eval-contract';
const define = {
  __VERSION_INFO__: JSON.stringify({
    package: methods.package,
    version: manifest.version,
    wireVersion: methods.wireVersion,
    apiSurface: methods.methods.map(({ name }) => name),
  }),
};

/** Libraries that only some commands need; each becomes a file of its own, read when it is first used. */
const VENDOR = [
  'undici',
  'hono',
  '@hono/node-server',
  'commander',
  'yaml',
  'yauzl',
  'fzstd',
  'prom-client',
  'pino',
];

const vendorFile = (name) => `${name.replace('@', '').replace('/', '-')}.cjs`;

const vendorPlugin = {
  name: 'vendor',
  setup(builder) {
    builder.onResolve({ filter: /^@opentelemetry\// }, () => ({
      path: './vendor/opentelemetry.cjs',
      external: true,
    }));
    builder.onResolve({ filter: /^[@a-z]/ }, ({ path: name, kind }) => {
      if (kind === 'entry-point' || !VENDOR.includes(name)) return undefined;
      return { path: `./vendor/${vendorFile(name)}`, external: true };
    });
  },
};

const common = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  logLevel: 'warning',
  legalComments: 'none',
  define,
};

/** One file for all of tracing: its packages share most of their code. */
const TRACING = Object.keys(manifest.dependencies).filter((name) =>
  name.startsWith('@opentelemetry/'),
);

async function buildVendor() {
  const files = [
    ...VENDOR.map((name) => [vendorFile(name), [name]]),
    ['opentelemetry.cjs', TRACING],
  ];
  for (const [file, names] of files) {
    const contents = names.map((name) => `export * from '${name}';`).join('');
    await build({
      ...common,
      format: 'cjs',
      minify: true,
      stdin: { contents, resolveDir: root },
      outfile: path.join(dist, 'engine/vendor', file),
    });
  }
}

const engineFile = {
  name: 'engine-file',
  setup(builder) {
    builder.onResolve({ filter: /\/engine\.js$/ }, () => ({
      path: './engine.cjs',
      external: true,
    }));
  },
};

/** Lazy CommonJS starts fastest: what a command does not reach is never evaluated. */
async function buildEngine() {
  const engine = { ...common, format: 'cjs', outdir: path.join(dist, 'engine') };
  await build({
    ...engine,
    entryPoints: { main: path.join(root, 'src/entries/main.ts') },
    outExtension: { '.js': '.cjs' },
    plugins: [engineFile],
    // As a plain require: the loader behind import() costs more than the whole engine.
    supported: { 'dynamic-import': false },
    banner: { js: '#!/usr/bin/env -S node --max-semi-space-size=4' },
  });
  await build({
    ...engine,
    entryPoints: { engine: path.join(root, 'src/entries/engine.ts') },
    outExtension: { '.js': '.cjs' },
    plugins: [vendorPlugin],
    define: { ...define, 'import.meta.url': '__moduleUrl' },
    banner: { js: 'const __moduleUrl = require("node:url").pathToFileURL(__filename).href;' },
  });
  await chmod(path.join(dist, 'engine/main.cjs'), 0o755);
  await cp(path.join(root, 'src/rubrics/builtin'), path.join(dist, 'engine/builtin'), {
    recursive: true,
  });
}

/** The library: ES modules that share chunks, npm dependencies left outside, the contract inside. */
async function buildLibrary() {
  await build({
    ...common,
    format: 'esm',
    splitting: true,
    entryPoints: {
      index: path.join(root, 'src/index.ts'),
      contract: path.join(root, 'src/contract.ts'),
    },
    outdir: dist,
    external: Object.keys(manifest.dependencies),
  });
  await cp(path.join(root, 'src/rubrics/builtin'), path.join(dist, 'builtin'), { recursive: true });
  await cp(path.join(root, '../contract/generated/openapi.json'), path.join(dist, 'openapi.json'));
  for (const name of ['index', 'contract']) await buildTypes(name);
}

async function buildTypes(name) {
  const bundle = await rollup({
    input: path.join(root, `src/${name}.ts`),
    external: Object.keys(manifest.dependencies),
    plugins: [
      dts({
        tsconfig: path.join(root, 'tsconfig.json'),
        compilerOptions: {
          composite: false,
          incremental: false,
          // The contract is not published apart: its types go into ours.
          paths: { [contractName]: [path.join(root, '../contract/src/index.ts')] },
        },
      }),
    ],
    onwarn: (warning) => process.stderr.write(`${warning.message}\n`),
  });
  await bundle.write({ file: path.join(dist, `${name}.d.ts`), format: 'es' });
  await bundle.close();
}

await rm(dist, { recursive: true, force: true });
await mkdir(path.join(dist, 'engine'), { recursive: true });
await buildVendor();
await buildEngine();
await buildLibrary();
