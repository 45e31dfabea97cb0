// Runs every benchmark, one after the other, and prints one table.
// usage: node bench/run.mjs [--python PATH] [--node PATH_OF_ANOTHER_NODE]… [--quick]
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { ENGINE, pathTo, table } from './processes.mjs';

// Where README.md says to put Node 24.
const NODE_24 = pathTo('.tools/node24/node');

const { values } = parseArgs({
  options: {
    python: { type: 'string', default: pathTo('.venv/bin/python') },
    node: { type: 'string', multiple: true, default: existsSync(NODE_24) ? [NODE_24] : [] },
    quick: { type: 'boolean', default: false },
  },
});

const QUICK = {
  'engine-throughput.mjs': ['--calls', '1000', '--warm-up', '500', '--pairs', '1'],
  'client_latency.py': ['--calls', '100'],
  'cold-start.mjs': ['--runs', '5'],
  'memory.mjs': ['--calls', '1000'],
  'import_cost.py': ['--runs', '5'],
  'cache.mjs': [],
  'rewards.py': ['--calls', '100', '--runs', '5'],
  'rollouts.py': ['--rollouts', '256'],
  'peers.mjs': ['--calls', '500', '--only', 'ours'],
};

function run(script, ...args) {
  const program = script.endsWith('.py') ? values.python : process.execPath;
  const quick = values.quick ? QUICK[script] : [];
  const all = [pathTo(`bench/${script}`), ...args, ...quick, '--json'];
  console.error(`==> ${script} ${args.join(' ')}`);
  const ran = spawnSync(program, all, { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });
  if (ran.status !== 0) throw new Error(`${script} failed (${ran.error?.message ?? ran.status})`);
  return JSON.parse(ran.stdout);
}

for (const [file, verb] of [
  [ENGINE, 'make build'],
  [values.python, 'make test'],
]) {
  if (!existsSync(file)) {
    console.error(`${file} is missing; \`${verb}\` makes it`);
    process.exit(2);
  }
}

const nodes = [process.execPath, ...values.node];
const rows = [
  ...run('engine-throughput.mjs'),
  ...run('client_latency.py'),
  ...nodes.flatMap((node) => run('cold-start.mjs', '--node', node)),
  ...nodes.flatMap((node) => run('memory.mjs', '--node', node)),
  ...run('import_cost.py'),
  ...run('cache.mjs'),
  ...run('rewards.py'),
  ...run('rollouts.py'),
  ...run('peers.mjs', '--only', 'ours', '--delay-ms', '0', '--calls', '20000'),
  ...run('peers.mjs'),
];
console.log(`${table(rows)}\n`);
console.log(
  `Node ${process.versions.node}, ${availableParallelism()} cores, load ${loadavg()[0].toFixed(1)} at the end.`,
);
