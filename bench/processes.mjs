// What the benchmarks share: processes to measure, what they cost, and the table at the end.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const pathTo = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));
/** The built engine; BENCH_ENGINE names another build to measure. */
export const ENGINE =
  process.env.BENCH_ENGINE ?? pathTo('packages/agent-eval/dist/engine/main.cjs');
export const NODE_FLAGS = ['--max-semi-space-size=4'];

/** What a whole judge request of the benchmarks looks like. */
export const JUDGE_REQUEST = JSON.stringify({
  rubricName: 'anti-slop',
  content:
    'The retry queue drops a job after 4 attempts. We moved the counter into the job row, so a worker ' +
    'that restarts no longer forgets it; the nightly import of 12 March went from 31 lost rows to none.',
});

/** The environment without settings and keys of the person who runs the benchmark. */
export function cleanEnvironment(more = {}) {
  const mine = /^(AGENT_EVAL_|OPENAI_|NODE_OPTIONS$)|_API_KEY$|_proxy$/i;
  const kept = Object.entries(process.env).filter(([name]) => !mine.test(name));
  return { ...Object.fromEntries(kept), ...more };
}

export const engineEnvironment = (providerUrl) =>
  cleanEnvironment({
    AGENT_EVAL_LLM_BASE_URL: providerUrl,
    AGENT_EVAL_LLM_API_KEY: 'sk-fake',
    AGENT_EVAL_LLM_MODEL: 'fake-model',
  });

/** Starts a process and resolves with its first line of output. */
async function start(command, args, env) {
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([
    new Promise((resolve) => lines.once('line', resolve)),
    exited.then((code) => Promise.reject(new Error(`${args[0]} ended at once (exit ${code})`))),
  ]);
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  return { pid: child.pid, first, stop };
}

/** Starts the endpoint that answers at once, or another script that says its URL in the same way. */
export async function startProvider(args = [], script = 'bench/fake-provider.mjs') {
  const started = await start(process.execPath, [pathTo(script), ...args], cleanEnvironment());
  return { ...started, url: JSON.parse(started.first).url };
}

export async function startEngine(providerUrl, node = process.execPath) {
  const args = [...NODE_FLAGS, ENGINE, 'serve', '--port', '0'];
  const started = await start(node, args, engineEnvironment(providerUrl));
  return { ...started, url: started.first.replace(/^.* on /, '') };
}

/** CPU time of a process so far, in milliseconds. */
export function cpuMs(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Resident memory of a process, in MB. */
export function residentMb(pid) {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Version of a Node, as the goals are named by: 20, 24. */
export function majorOf(node) {
  const ran = spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' });
  if (ran.status !== 0) throw new Error(`${node} is not a Node that runs here`);
  return ran.stdout.split('.')[0];
}

/** A row of the result table, with `atMost` or `atLeast` where there is a goal. */
export function row(name, value, unit, { atMost, atLeast } = {}) {
  if (atMost !== undefined) {
    return { name, value, unit, goal: `at most ${atMost}`, met: value <= atMost };
  }
  if (atLeast !== undefined) {
    return { name, value, unit, goal: `at least ${atLeast}`, met: value >= atLeast };
  }
  return { name, value, unit };
}

const shown = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(2));

const mark = (met) => (met === undefined ? '' : met ? 'yes' : 'no');

export function table(rows) {
  const lines = rows.map(
    ({ name, value, unit, goal = '', met }) =>
      `| ${name} | ${shown(value)} ${unit} | ${goal} | ${mark(met)} |`,
  );
  return ['| what | measured | goal | met |', '|---|---|---|---|', ...lines].join('\n');
}

/** Prints rows as a table, or as JSON for bench/run.mjs. */
export function printRows(rows, json) {
  console.log(json ? JSON.stringify(rows) : table(rows));
}
