// autoevals for JavaScript: the same classifier as autoevals_judge.py.
// usage: node autoevals_judge.mjs FOLDER URL CALLS WARM_UP IN_FLIGHT; FOLDER holds node_modules.
import { createRequire } from 'node:module';
import path from 'node:path';

const [folder, url, calls, warmUp, inFlight] = process.argv.slice(2);
const require = createRequire(path.join(folder, 'package.json'));
const { LLMClassifierFromTemplate } = require('autoevals');
const { OpenAI } = require('openai');

const client = new OpenAI({ baseURL: url, apiKey: 'sk-fake', maxRetries: 0 });
const classify = LLMClassifierFromTemplate({
  name: 'slop',
  promptTemplate: 'Is this text good or bad?\n\n{{output}}',
  choiceScores: { good: 1, bad: 0 },
  model: 'fake-model',
  useCoT: true,
});

const text = (number) =>
  `Note ${number}: the retry queue drops a job after 4 attempts. We moved the counter into the job row, so a worker that restarts no longer forgets it; the nightly import went from 31 lost rows to none.`;

async function series(first, count) {
  let next = first;
  const worker = async () => {
    while (next < first + count) {
      const { score } = await classify({ output: text(next++), client });
      if (score !== 1) throw new Error(`a wrong score: ${score}`);
    }
  };
  await Promise.all(Array.from({ length: Number(inFlight) }, worker));
}

await series(0, Number(warmUp));
const cpu = process.cpuUsage();
const started = performance.now();
await series(Number(warmUp), Number(calls));
const seconds = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage(cpu);
const peakMb = process.resourceUsage().maxRSS / 1024;
console.log(
  JSON.stringify({
    calls: Number(calls),
    seconds,
    cpuMs: (user + system) / 1000 / Number(calls),
    peakMb,
  }),
);
