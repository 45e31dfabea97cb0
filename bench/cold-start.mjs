// Time of a whole process, from start to end: an empty script, `rpc version`, `rpc judge`; run in turns.
// `node cold-start.mjs [--node PATH] [--runs N]`
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { ENGINE, engineEnv, median, REQUEST, row, startProvider } from './harness.mjs';

const UNCOUNTED = 3;
// Node -> how many times the empty script `rpc version` and `rpc judge` may take.
const GOALS = { 20: [1.3, 2.0], 24: [1.6, 3.0] };

const { values } = parseArgs({
  options: {
    node: { type: 'string', default: process.execPath },
    runs: { type: 'string', default: '25' },
  },
});

const provider = await startProvider();
const env = engineEnv(provider.url);

async function timed(args, input) {
  const started = process.hrtime.bigint();
  const child = spawn(values.node, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [code] = await once(child, 'close');
  const milliseconds = Number(process.hrtime.bigint() - started) / 1e6;
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${output}`);
  return { milliseconds, output };
}

const commands = {
  empty: [['-e', '0'], ''],
  version: [[ENGINE, 'rpc', 'version'], ''],
  judge: [[ENGINE, 'rpc', 'judge'], REQUEST],
};
const times = { empty: [], version: [], judge: [] };
for (let run = -UNCOUNTED; run < Number(values.runs); run += 1) {
  for (const [name, [args, input]] of Object.entries(commands)) {
    const { milliseconds, output } = await timed(args, input);
    if (name !== 'empty' && !('result' in JSON.parse(output))) throw new Error(output);
    if (run >= 0) times[name].push(milliseconds);
  }
}
await provider.stop();

const major = spawnSync(values.node, ['-p', 'process.versions.node'], { encoding: 'utf8' });
const [atMostVersion, atMostJudge] = GOALS[major.stdout.split('.')[0]] ?? [];
const empty = median(times.empty);
row('cold `node -e 0`', empty, 'ms');
row('cold `rpc version`', median(times.version), 'ms');
row('cold `rpc judge`', median(times.judge), 'ms');
row('`rpc version` by `node -e 0`', median(times.version) / empty, 'times', {
  atMost: atMostVersion,
});
row('`rpc judge` by `node -e 0`', median(times.judge) / empty, 'times', { atMost: atMostJudge });
