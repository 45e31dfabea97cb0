// Who may import whom inside packages/. tests/test_layers.py runs this; tests are free to compose.

const ENGINE = '^packages/agent-eval/src';
const CONTRACT = '^packages/contract/src';
const TESTS = '\\.test\\.ts$';

/** Folder of the engine -> what it may import besides itself. A trailing `:types` allows types only. */
const MAY_IMPORT = {
  core: [],
  stats: [],
  telemetry: ['core', 'contract'],
  config: ['core', 'contract'],
  providers: ['core', 'contract'],
  rubrics: ['core', 'contract'],
  ledger: ['core', 'contract'],
  store: ['core', 'contract'],
  cache: ['store', 'core', 'contract'],
  models: ['core', 'config', 'contract'],
  judge: ['providers:types', 'rubrics', 'ledger', 'core', 'contract'],
  api: ['judge', 'rubrics', 'store', 'providers:types', 'core', 'contract'],
  http: ['api', 'core', 'contract'],
  rpc: ['api', 'core', 'contract'],
  hosted: ['store', 'core', 'contract'],
  proxy: ['providers', 'ledger', 'core', 'contract'],
  campaign: ['proxy', 'ledger', 'store', 'stats', 'core', 'contract'],
};

/** A package from the registry -> the folders that may know it, so that replacing one stays local. */
const PACKAGE_HOMES = {
  canonicalize: ['core'],
  undici: ['providers'],
  fzstd: ['providers'],
  hono: ['http'],
  '@hono/node-server': ['http'],
  commander: ['cli'],
  yaml: ['rubrics'],
  yauzl: ['models'],
  'prom-client': ['telemetry'],
  pino: ['telemetry'],
  '@opentelemetry': ['telemetry'],
  '@photostructure/sqlite': ['store'],
  'node-llama-cpp': ['providers', 'models'],
};

const pathOf = (name) => (name === 'contract' ? CONTRACT : `${ENGINE}/${name}/`);

function folderRules([folder, allowed]) {
  const names = allowed.map((entry) => entry.split(':')[0]);
  const typesOnly = allowed
    .filter((entry) => entry.endsWith(':types'))
    .map((entry) => entry.split(':')[0]);
  const from = { path: pathOf(folder), pathNot: TESTS };
  const rules = [
    {
      name: `${folder}-imports`,
      comment: `${folder} may import only: ${allowed.join(', ') || 'nothing of ours'}`,
      severity: 'error',
      from,
      to: { path: '^packages/', pathNot: [folder, ...names].map(pathOf) },
    },
  ];
  for (const name of typesOnly) {
    rules.push({
      name: `${folder}-imports-${name}-types`,
      comment: `${folder} may import types of ${name}; the object itself is handed in`,
      severity: 'error',
      from,
      to: { path: pathOf(name), dependencyTypesNot: ['type-only'] },
    });
  }
  return rules;
}

function packageRule([name, homes]) {
  return {
    name: `package-${name.replace(/[@/]+/g, '-').replace(/^-/, '')}`,
    comment: `${name} is known in ${homes.join(' and ')} only`,
    severity: 'error',
    from: { path: '^packages/[^/]+/src/', pathNot: [...homes.map(pathOf), TESTS] },
    to: { path: `(^|/)node_modules/${name}/` },
  };
}

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'files that import each other cannot be read, tested or loaded one at a time',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'an import that resolves to nothing would escape every other rule',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/' },
      to: { couldNotResolve: true, pathNot: '^node-llama-cpp$' },
    },
    {
      name: 'known-folders',
      comment: 'a new folder of the engine needs a row in this file before it may import anything',
      severity: 'error',
      from: {
        path: `${ENGINE}/[^/]+/`,
        pathNot: [...Object.keys(MAY_IMPORT), 'cli', 'entries'].map(pathOf),
      },
      to: {},
    },
    {
      name: 'contract-imports',
      comment: 'the contract depends on zod only',
      severity: 'error',
      from: { path: CONTRACT, pathNot: TESTS },
      to: { pathNot: [CONTRACT, '(^|/)node_modules/zod/'] },
    },
    {
      name: 'zod-in-contract',
      comment: 'wire fields are typed in the contract, and nowhere else',
      severity: 'error',
      from: { path: ENGINE, pathNot: TESTS },
      to: { path: '(^|/)node_modules/zod/' },
    },
    {
      name: 'cli-importers',
      comment: 'only an entry point starts the command line',
      severity: 'error',
      from: { path: ENGINE, pathNot: [pathOf('cli'), pathOf('entries'), TESTS] },
      to: { path: pathOf('cli') },
    },
    {
      name: 'entries-importers',
      comment: 'only the command line and the package root use what entries compose',
      severity: 'error',
      from: {
        path: ENGINE,
        pathNot: [pathOf('entries'), pathOf('cli'), `${ENGINE}/index\\.ts$`, TESTS],
      },
      to: { path: pathOf('entries') },
    },
    {
      name: 'campaign-importers',
      comment: 'only the package root and the command line import campaign',
      severity: 'error',
      from: {
        path: ENGINE,
        pathNot: [pathOf('campaign'), pathOf('cli'), `${ENGINE}/index\\.ts$`, TESTS],
      },
      to: { path: pathOf('campaign') },
    },
    {
      name: 'no-tests-in-code',
      comment: 'shipped code never imports a test file',
      severity: 'error',
      from: { pathNot: TESTS },
      to: { path: TESTS },
    },
    ...Object.entries(MAY_IMPORT).flatMap(folderRules),
    ...Object.entries(PACKAGE_HOMES).map(packageRule),
  ],
  options: {
    doNotFollow: { path: '(^|/)node_modules/' },
    exclude: { path: '^packages/[^/]+/dist/' },
    tsPreCompilationDeps: 'specify',
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
    },
  },
};
