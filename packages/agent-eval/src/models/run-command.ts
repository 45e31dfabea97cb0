import { spawn } from 'node:child_process';
import { type Clock, systemClock } from '../core/clock.js';
import { beginning } from '../core/text.js';

export interface CommandResult {
  ok: boolean;
  /** Last lines of what it said, with passwords in addresses hidden. */
  said: string;
  /** Set when the program could not be started at all. */
  missing: boolean;
}

const KEPT = 4000;
/** How long a program may take to end by itself once it was asked to. */
const GRACE_MS = 3_000;

/** Runs a program to its end. Cancelling ends it, and rejects when it has ended. */
export async function runCommand(
  command: readonly [string, ...string[]],
  options: {
    env: Record<string, string>;
    cwd?: string;
    signal?: AbortSignal | undefined;
    clock?: Clock;
  },
): Promise<CommandResult> {
  const { env, cwd, signal, clock = systemClock } = options;
  signal?.throwIfAborted();
  const [program, ...args] = command;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    const keep = (chunk: Buffer): void => {
      said = (said + chunk.toString('utf8')).slice(-KEPT);
    };
    let cancelKill = (): void => {};
    const stop = (): void => {
      child.kill('SIGTERM');
      cancelKill = clock.setTimer(() => child.kill('SIGKILL'), GRACE_MS);
    };
    const end = (result: CommandResult): void => {
      cancelKill();
      signal?.removeEventListener('abort', stop);
      if (signal?.aborted === true) reject(signal.reason);
      else resolve(result);
    };
    signal?.addEventListener('abort', stop, { once: true });
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (child.pid !== undefined) return;
      end({ ok: false, said: error.message, missing: error.code === 'ENOENT' });
    });
    child.on('close', (code) => end({ ok: code === 0, said: lastLines(said), missing: false }));
  });
}

function lastLines(text: string): string {
  // A line that lost its beginning may hold half an address, with the password still in it.
  const whole = text.length < KEPT ? text : text.slice(text.indexOf('\n') + 1);
  const lines = whole.trim().split('\n').slice(-4).join(' | ');
  return beginning(lines.replace(/:\/\/[^/\s]*@/g, '://***@'), 600);
}
