import { describe, expect, it } from 'vitest';
import { Canceller, NEVER, Stopped } from '../core/cancel.js';
import { Limiter } from './limiter.js';

/** A task that ends when told to. */
function gate(): { promise: Promise<void>; open: () => void } {
  let open = (): void => {};
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

describe('the limiter', () => {
  it('lets so many run and hands places on in order', async () => {
    const limiter = new Limiter(2, 10);
    const gates = Array.from({ length: 4 }, gate);
    const started: number[] = [];
    const runs = gates.map(({ promise }, i) =>
      limiter.run(NEVER, async () => {
        started.push(i);
        await promise;
      }),
    );
    await Promise.resolve();
    expect(limiter.load).toEqual({ running: 2, waiting: 2 });
    for (const { open } of gates) open();
    await Promise.all(runs);
    expect(started).toEqual([0, 1, 2, 3]);
    expect(limiter.load).toEqual({ running: 0, waiting: 0 });
  });

  it('answers overloaded beyond its queue', async () => {
    const limiter = new Limiter(1, 1);
    const first = gate();
    const runs = [limiter.run(NEVER, () => first.promise), limiter.run(NEVER, async () => {})];
    await expect(limiter.run(NEVER, async () => {})).rejects.toMatchObject({ code: 'overloaded' });
    first.open();
    await Promise.all(runs);
  });

  it('lets a caller leave the queue, and frees its place when a task throws', async () => {
    const limiter = new Limiter(1, 5);
    const first = gate();
    const leaving = new Canceller();
    const running = limiter.run(NEVER, async () => {
      await first.promise;
      throw new Error('task failed');
    });
    const waiting = limiter.run(leaving, async () => 'never');
    leaving.stop();
    await expect(waiting).rejects.toThrow(Stopped);
    expect(limiter.load.waiting).toBe(0);
    first.open();
    await expect(running).rejects.toThrow('task failed');
    expect(await limiter.run(NEVER, async () => 'free')).toBe('free');
  });
});
