// What the benchmarks share: starting the provider and the engine, load, CPU and memory of a process, rows.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

export const ENGINE = here('../packages/agent-eval/dist/engine/main.cjs');
export const ENGINE_FLAGS = ['--max-semi-space-size=4'];
export const IN_FLIGHT = 64;
export const REQUEST = JSON.stringify({
  content:
    'We moved the nightly export from cron to a queue. Runs that used to overlap now wait, and the ' +
    'table lock is gone. It still fails when a customer has more than 40 GB.',
  rubricName: 'anti-slop',
});

const CLOCK_TICKS_PER_S = 100;

/** The undici that the engine uses, so that both sides of a comparison run the same code. */
export function loadUndici() {
  return createRequire(here('../packages/agent-eval/package.json'))('undici');
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Prints one measured figure; run.mjs makes a table of them. */
export function row(what, value, unit, goal = {}) {
  const digits = value >= 100 ? 0 : 3;
  const figure = { what, value: Number(value.toFixed(digits)), unit, ...goal };
  process.stdout.write(`${JSON.stringify(figure)}\n`);
}

/** Environment of an engine that asks the bench provider and has no other setting. */
export function engineEnv(providerUrl) {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(AGENT_EVAL_|OPENAI_|NODE_)|_API_KEY$|_proxy$/i.test(name),
  );
  return {
    ...Object.fromEntries(own),
    AGENT_EVAL_LLM_BASE_URL: providerUrl,
    AGENT_EVAL_LLM_API_KEY: 'bench-key',
    AGENT_EVAL_LLM_MODEL: 'bench-model',
  };
}

async function start(command, args, env, read) {
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const line = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${args.join(' ')} ended with ${code}`)));
  });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  };
  return { url: read(line), pid: child.pid, stop };
}

export function startProvider(...args) {
  const read = (line) => JSON.parse(line).url;
  return start(process.execPath, [here('fake-provider.mjs'), ...args], process.env, read);
}

export function startEngine(node, providerUrl) {
  const read = (line) => line.split(' ').at(-1);
  const args = [...ENGINE_FLAGS, ENGINE, 'serve', '--port', '0'];
  return start(node, args, engineEnv(providerUrl), read);
}

/** Posts `calls` times with `IN_FLIGHT` at once; every answer has to be a 200. Returns seconds taken. */
export async function load(url, path, body, calls) {
  const { Pool } = loadUndici();
  const pool = new Pool(url, { connections: IN_FLIGHT });
  const headers = { 'content-type': 'application/json' };
  let left = calls;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const answer = await pool.request({ method: 'POST', path, headers, body });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${text}`);
    }
  };
  const started = process.hrtime.bigint();
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  const seconds = Number(process.hrtime.bigint() - started) / 1e9;
  await pool.close();
  return seconds;
}

/** CPU time a process has used so far, all threads, in milliseconds (Linux). */
export function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / CLOCK_TICKS_PER_S;
}

/** Memory of a process in MB: now, and at its highest (Linux). */
export function memoryMb(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const read = (key) => Number(new RegExp(`${key}:\\s+(\\d+) kB`).exec(status)[1]) / 1024;
  return { now: read('VmRSS'), highest: read('VmHWM') };
}
