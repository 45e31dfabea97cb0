// Judged calls a second against other judging libraries, each in an environment of its own, all against the
// same provider, in one run. Sets the environments up on first use, below .tools/bench.
// usage: node bench/peers.mjs [--calls 2000] [--delay-ms 50] [--only NAME,NAME] [--json]
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import {
  cleanEnvironment,
  cpuMs,
  pathTo,
  row,
  startEngine,
  startProvider,
  table,
} from './processes.mjs';

const IN_FLIGHT = 64;
/** Engines of JavaScript need about so many before they are up to speed. */
const WARM_UP = 1500;

/** Versions are pinned, so that two runs compare the same things. Slow ones make fewer calls. */
const PEERS = [
  { name: 'ours', show: 'agent-eval, Python judge_many', script: 'ours_judge.py' },
  {
    name: 'autoevals-js',
    show: 'autoevals 0.0.132, JavaScript',
    script: 'autoevals_judge.mjs',
    npm: ['autoevals@0.0.132'],
  },
  {
    name: 'autoevals',
    show: 'autoevals 0.4.1, Python',
    script: 'autoevals_judge.py',
    pip: ['autoevals==0.4.1', 'openai==3.57.0'],
  },
  {
    name: 'openevals',
    show: 'openevals 0.2.2',
    script: 'openevals_judge.py',
    pip: ['openevals==0.2.2', 'openai==3.57.0'],
  },
  {
    name: 'inspect-ai',
    show: 'Inspect AI 0.3.285',
    script: 'inspect_judge.py',
    pip: ['inspect-ai==0.3.285', 'openai==3.57.0'],
    share: 0.3,
  },
  {
    name: 'deepeval',
    show: 'DeepEval 4.3.1',
    script: 'deepeval_judge.py',
    pip: ['deepeval==4.3.1', 'openai==3.57.0'],
    share: 0.1,
  },
];

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '2000' },
    'delay-ms': { type: 'string', default: '50' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const delayMs = Number(values['delay-ms']);
const wanted = values.only?.split(',');

function run(command, args, cwd) {
  const done = spawnSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
  if (done.status !== 0) throw new Error(`${path.basename(command)} ${args.join(' ')} failed`);
}

/** The command that runs a peer's script, installed first where it is missing. */
function command({ name, script, pip, npm }) {
  const file = pathTo(`bench/peers/${script}`);
  if (pip === undefined && npm === undefined) return [pathTo('.venv/bin/python'), file];
  const folder = pathTo(`.tools/bench/${name}`);
  const ready = path.join(folder, 'ready');
  if (!existsSync(ready)) {
    console.error(`==> setting up ${name}`);
    mkdirSync(folder, { recursive: true });
    if (npm !== undefined) {
      writeFileSync(path.join(folder, 'package.json'), '{}');
      run('npm', ['install', '--no-save', '--no-package-lock', '--loglevel=error', ...npm], folder);
    } else {
      const uv = pathTo('.tools/py/bin/uv');
      run(uv, ['venv', '--quiet', '--python', '3.11', '--allow-existing', 'venv'], folder);
      run(uv, ['pip', 'install', '--quiet', '--python', 'venv/bin/python', ...pip], folder);
    }
    writeFileSync(ready, '');
  }
  return npm !== undefined
    ? [process.execPath, file, folder]
    : [path.join(folder, 'venv/bin/python'), file];
}

/** Runs one script to its end and reads the JSON of its last line. */
function measured([program, ...args], env) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.once('exit', (code) => {
      if (code === 0) resolve(JSON.parse(output.trim().split('\n').at(-1)));
      else reject(new Error(`${args[0]} ended with ${code}`));
    });
  });
}

async function measure(peer, provider, engine) {
  const share = peer.share ?? 1;
  const calls = Math.round(Number(values.calls) * share);
  const warmUp = Math.round(WARM_UP * share);
  const start = command(peer);
  const ours = peer.name === 'ours';
  const url = ours ? engine.url : provider.url;
  const numbers = [String(calls), String(warmUp), String(IN_FLIGHT)];
  const args = peer.npm
    ? [url, ...numbers]
    : ['--url', url, '--calls', numbers[0], '--warm-up', numbers[1], '--in-flight', numbers[2]];
  const before = ours ? cpuMs(engine.pid) : 0;
  const result = await measured([...start, ...args], cleanEnvironment());
  // The engine's CPU counts as ours, that of the warm-up with it.
  const engineCpu = ours ? (cpuMs(engine.pid) - before) / (calls + warmUp) : 0;
  return { ...result, perSecond: calls / result.seconds, cpuMs: result.cpuMs + engineCpu };
}

const provider = await startProvider(['--peers', '--delay-ms', String(delayMs)]);
const engine = await startEngine(provider.url);
const results = [];
try {
  for (const peer of PEERS) {
    if (wanted !== undefined && !wanted.includes(peer.name)) continue;
    const result = await measure(peer, provider, engine);
    results.push({ peer, result });
    console.error(
      `${peer.show}: ${result.perSecond.toFixed(0)} judged calls/s, CPU ${result.cpuMs.toFixed(2)} ms each, ` +
        `peak ${result.peakMb.toFixed(0)} MB`,
    );
  }
} finally {
  await engine.stop();
  await provider.stop();
}

const ours = results.find(({ peer }) => peer.name === 'ours')?.result;
const others = results.filter(({ peer }) => peer.name !== 'ours');
const best = Math.max(0, ...others.map(({ result }) => result.perSecond));
const ideal = delayMs > 0 ? (IN_FLIGHT * 1000) / delayMs : undefined;
const rows = results.flatMap(({ peer, result }) => [
  row(`${peer.show}: judged calls, provider after ${delayMs} ms`, result.perSecond, '/s'),
  row(`… CPU of one`, result.cpuMs, 'ms'),
]);
if (ours !== undefined) {
  if (ideal === undefined) {
    rows.push(row('ours with an instant provider', ours.perSecond, '/s', { atLeast: 2500 }));
  }
  if (ideal !== undefined) {
    rows.push(
      row(`ours against the ideal ${ideal}/s`, ours.perSecond / ideal, 'times', { atLeast: 0.9 }),
    );
  }
  if (best > 0) {
    rows.push(
      row('ours against the fastest other', ours.perSecond / best, 'times', { atLeast: 1 }),
    );
  }
}
console.log(values.json ? JSON.stringify(rows) : table(rows));
