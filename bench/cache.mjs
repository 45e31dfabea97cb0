// What a hit in the verdict cache costs inside the engine, after a build.
// usage: node bench/cache.mjs [--json]
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createAgentEval } from '../packages/agent-eval/dist/index.js';
import { printRows, row } from './processes.mjs';

const VERDICTS = 2_000;
const HITS = 10_000;
const dimensions = { buyer_quality: 0.5, voice: 0.5, signal: 0.5 };
const verdict = { rationale: 'x'.repeat(400), dimensions, failureModes: [], wins: [] };
const reply = JSON.stringify({
  model: 'm',
  choices: [{ message: { content: JSON.stringify(verdict) }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 900, completion_tokens: 100 },
});
let calls = 0;
const server = createServer((request, response) => {
  calls += 1;
  request.resume().on('end', () => response.end(reply));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const folder = await mkdtemp(path.join(tmpdir(), 'bench-cache-'));
const env = {
  AGENT_EVAL_LLM_BASE_URL: `http://127.0.0.1:${server.address().port}/v1`,
  AGENT_EVAL_LLM_MODEL: 'm',
  AGENT_EVAL_CACHE: path.join(folder, 'verdicts.db'),
};
const engine = await createAgentEval({ env });
const judge = (i) =>
  engine.judge({ rubricName: 'anti-slop', content: `Text ${i}. ${'word '.repeat(300)}` });
for (let i = 0; i < VERDICTS; i += 1) await judge(i);
const times = [];
for (let i = 0; i < HITS; i += 1) {
  const started = performance.now();
  const { cached } = await judge((i * 7) % VERDICTS);
  times.push(performance.now() - started);
  if (!cached) throw new Error('a verdict was not remembered');
}
if (calls !== VERDICTS) throw new Error(`${calls} calls for ${VERDICTS} texts`);
times.sort((a, b) => a - b);
const at = (part) => times[Math.floor(part * HITS)];
printRows(
  [
    row('a verdict from the cache, in the engine, p50', at(0.5), 'ms', { atMost: 0.5 }),
    row('… p99', at(0.99), 'ms'),
  ],
  process.argv.includes('--json'),
);
await engine.close();
server.close();
await rm(folder, { recursive: true });
