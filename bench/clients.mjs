// Starts load clients as processes of their own, so that their CPU time is theirs alone.
import { fork } from 'node:child_process';
import { pathTo } from './processes.mjs';

/** A client process; `run` makes one series of calls at a time and resolves with what it cost. */
export function startClient(node = process.execPath) {
  const child = fork(pathTo('bench/load-client.mjs'), { execPath: node });
  const run = (job) =>
    new Promise((resolve, reject) => {
      const onExit = (code) => reject(new Error(`the load client ended (exit ${code})`));
      child.once('exit', onExit);
      child.once('message', ({ result, error }) => {
        child.off('exit', onExit);
        if (error === undefined) resolve(result);
        else reject(new Error(error));
      });
      child.send(job);
    });
  return { run, stop: () => child.kill() };
}
