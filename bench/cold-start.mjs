// Time of a whole process, from start to end: an empty script, `rpc version`, `rpc judge`, run in turns.
// usage: node bench/cold-start.mjs [--runs 21] [--node PATH] [--json]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import {
  ENGINE,
  engineEnvironment,
  JUDGE_REQUEST,
  majorOf,
  median,
  printRows,
  row,
  startProvider,
} from './processes.mjs';

const UNCOUNTED = 3;
// Node -> how many empty scripts `rpc version` and `rpc judge` may take.
const GOALS = { 20: [1.3, 2], 24: [1.6, 3] };

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '21' },
    node: { type: 'string', default: process.execPath },
    json: { type: 'boolean', default: false },
  },
});

/** Runs a command to its end; a failed one is no measurement. */
async function timed(args, input, env) {
  const started = performance.now();
  const child = spawn(values.node, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  // A command that reads no input closes it early.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [code] = await once(child, 'close');
  const ms = performance.now() - started;
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${output}`);
  return ms;
}

const provider = await startProvider();
try {
  const env = engineEnvironment(provider.url);
  const commands = [
    { args: ['-e', '0'], input: '', times: [] },
    { args: [ENGINE, 'rpc', 'version'], input: '', times: [] },
    { args: [ENGINE, 'rpc', 'judge'], input: JUDGE_REQUEST, times: [] },
  ];
  for (let run = -UNCOUNTED; run < Number(values.runs); run += 1) {
    for (const { args, input, times } of commands) {
      const ms = await timed(args, input, env);
      if (run >= 0) times.push(ms);
    }
  }
  const [empty, version, judge] = commands.map(({ times }) => median(times));
  const major = majorOf(values.node);
  const [versionGoal, judgeGoal] = GOALS[major] ?? [];
  const name = (text) => `Node ${major}: cold ${text}`;
  printRows(
    [
      row(name('`node -e 0`'), empty, 'ms'),
      row(name('`rpc version`'), version / empty, 'times that', { atMost: versionGoal }),
      row(name('`rpc judge`'), judge / empty, 'times that', { atMost: judgeGoal }),
    ],
    values.json,
  );
} finally {
  await provider.stop();
}
