import type { Writable } from 'node:stream';
import { soon, systemClock } from './clock.js';

/** Where protocol lines go. */
export interface LineWriter {
  /** Queues one JSON line. */
  write(value: unknown): void;
  /** Resolves when the reader has kept up. */
  ready(): Promise<void>;
  /** Resolves when everything has been handed over. */
  flush(): Promise<void>;
  /** True once nobody reads any more. */
  closed(): boolean;
}

/**
 * Writes JSON lines; lines of one turn of the event loop leave in one write, or those of `lingerMs`, where a
 * stream of many is worth fewer writes more than the first line at once.
 */
export function lineWriter(output: Writable, lingerMs = 0): LineWriter {
  let queued: string[] = [];
  let blocked: Promise<unknown> | null = null;
  let gone = false;
  const onGone = (): void => {
    gone = true;
  };
  output.on('error', onGone);
  output.on('close', onGone);
  const send = (): void => {
    if (queued.length === 0) return;
    const text = `${queued.join('\n')}\n`;
    queued = [];
    if (gone) return;
    if (!output.write(text) && blocked === null) {
      blocked = drained(output).then(() => {
        blocked = null;
      });
    }
  };
  return {
    write(value) {
      if (queued.length === 0) {
        if (lingerMs === 0) soon(send);
        else systemClock.setTimer(send, lingerMs);
      }
      queued.push(JSON.stringify(value));
    },
    async ready() {
      if (blocked !== null) await blocked;
    },
    async flush() {
      send();
      if (gone) return;
      await new Promise<void>((resolve) => output.write('', () => resolve()));
    },
    closed: () => gone,
  };
}

/** Resolves when the reader has caught up or is gone; leaves no listener behind. */
function drained(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      output.off('drain', done);
      output.off('close', done);
      resolve();
    };
    output.once('drain', done);
    output.once('close', done);
  });
}
