import type { FetchProgress } from '../models/fetch.js';

const WIDTH = 30;

/** Shows progress on stderr: a bar where people look on, else a line each tenth. */
export function progressBar(talk: (line: string) => void): {
  show: (progress: FetchProgress) => void;
  end: () => void;
} {
  const live = process.stderr.isTTY === true;
  let last = '';
  return {
    show({ phase, doneBytes, totalBytes }) {
      const part = Math.min(1, doneBytes / totalBytes);
      const megabytes = `${Math.round(doneBytes / 1e6)}/${Math.round(totalBytes / 1e6)} MB`;
      const step = `${phase} ${live ? Math.floor(part * 100) : Math.floor(part * 10) * 10} %`;
      if (step === last) return;
      last = step;
      const bar = '█'.repeat(Math.round(part * WIDTH)).padEnd(WIDTH, '░');
      if (live) process.stderr.write(`\r${bar} ${step}, ${megabytes}   `);
      else talk(`  ${step}, ${megabytes}`);
    },
    end() {
      if (live) process.stderr.write('\n');
    },
  };
}
