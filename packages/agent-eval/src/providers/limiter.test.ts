import { describe, expect, it } from 'vitest';
import { Limiter } from './limiter.js';

const never = new AbortController().signal;

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
      limiter.run(never, async () => {
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
    const runs = [limiter.run(never, () => first.promise), limiter.run(never, async () => {})];
    await expect(limiter.run(never, async () => {})).rejects.toMatchObject({ code: 'overloaded' });
    first.open();
    await Promise.all(runs);
  });

  it('lets a caller leave the queue, and frees its place when a task throws', async () => {
    const limiter = new Limiter(1, 5);
    const first = gate();
    const leaving = new AbortController();
    const running = limiter.run(never, async () => {
      await first.promise;
      throw new Error('task failed');
    });
    const waiting = limiter.run(leaving.signal, async () => 'never');
    leaving.abort(new Error('left'));
    await expect(waiting).rejects.toThrow('left');
    expect(limiter.load.waiting).toBe(0);
    first.open();
    await expect(running).rejects.toThrow('task failed');
    expect(await limiter.run(never, async () => 'free')).toBe('free');
  });
});
