// A session of the engine: one call after the other.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export function openSession(engine, env) {
  const child = spawn(process.execPath, [engine, 'rpc', '--session'], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const waiting = new Map();
  let last = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  return {
    call(method, params) {
      last += 1;
      child.stdin.write(`${JSON.stringify({ id: last, method, params })}\n`);
      return new Promise((resolve) => waiting.set(last, resolve));
    },
    close: () => child.stdin.end(),
  };
}
