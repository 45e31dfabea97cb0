import { describe, expect, it } from 'vitest';
import { Canceller, NEVER, Stopped } from '../core/cancel.js';
import type { Clock } from '../core/clock.js';
import { Limiter, type Waiter } from './limiter.js';

/** A task that ends when told to. */
function gate(): { promise: Promise<void>; open: () => void } {
  let open = (): void => {};
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

/** A clock that stands still until it is moved. */
class HandClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ at: number; fn: () => void }>();

  now = (): number => this.#now;
  monotonic = (): number => this.#now;

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.setTimer(resolve, ms));
  }

  setTimer(fn: () => void, ms: number): () => void {
    const timer = { at: this.#now + ms, fn };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves on, and lets what that sets off run. */
  async pass(ms: number): Promise<void> {
    this.#now += ms;
    for (const timer of [...this.#timers]) {
      if (timer.at <= this.#now && this.#timers.delete(timer)) timer.fn();
    }
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const leftMs = (ms: number): Waiter => ({ ...NEVER, remainingMs: () => ms });

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

describe('the limit', () => {
  /** Starts `n` calls that stay out until they are ended. */
  function start(limiter: Limiter, n: number) {
    return Array.from({ length: n }, () => {
      const { promise, open } = gate();
      const call = { round: -1, end: open, done: Promise.resolve() };
      call.done = limiter.run(NEVER, async () => {
        call.round = limiter.round;
        await promise;
      });
      return call;
    });
  }

  it('halves once for all calls that were out together', async () => {
    const limiter = new Limiter(64, 100);
    const calls = start(limiter, 64);
    for (const { round } of calls) limiter.turnedAway(round, undefined);
    expect(limiter.limit).toBe(32);
    for (const { end } of calls) end();
    await Promise.all(calls.map(({ done }) => done));
    const [later] = start(limiter, 1);
    limiter.turnedAway(later?.round ?? -1, undefined);
    expect(limiter.limit).toBe(16);
  });

  it('lets fewer run after that, and never fewer than one', async () => {
    const limiter = new Limiter(4, 100);
    for (let i = 0; i < 5; i += 1) limiter.turnedAway(limiter.round, undefined);
    expect(limiter.limit).toBe(1);
    const calls = start(limiter, 3);
    await settled();
    expect(limiter.load).toEqual({ running: 1, waiting: 2 });
    for (const { end, done } of calls) {
      end();
      await done;
    }
    expect(limiter.load).toEqual({ running: 0, waiting: 0 });
  });

  it('grows by one in a round of answers, up to where it started', () => {
    const limiter = new Limiter(8, 100);
    limiter.turnedAway(0, undefined);
    expect(limiter.limit).toBe(4);
    for (let i = 0; i < 5; i += 1) limiter.answered(1);
    expect(limiter.limit).toBe(5);
    for (let i = 0; i < 100; i += 1) limiter.answered(1);
    expect(limiter.limit).toBe(8);
  });

  it('does not grow by answers to calls from before the cut', () => {
    const limiter = new Limiter(8, 100);
    limiter.turnedAway(0, undefined);
    for (let i = 0; i < 20; i += 1) limiter.answered(0);
    expect(limiter.limit).toBe(4);
  });
});

describe('a wait that the endpoint asks for', () => {
  it('holds every call, then lets them go in order', async () => {
    const clock = new HandClock();
    const limiter = new Limiter(4, 100, clock);
    limiter.turnedAway(0, 3000);
    const started: number[] = [];
    const runs = [1, 2, 3].map((i) => limiter.run(leftMs(10_000), async () => started.push(i)));
    await clock.pass(2999);
    expect(started).toEqual([]);
    await clock.pass(1);
    await Promise.all(runs);
    expect(started).toEqual([1, 2, 3]);
  });

  it('counts the longest when several are asked for', async () => {
    const clock = new HandClock();
    const limiter = new Limiter(4, 100, clock);
    limiter.turnedAway(0, 3000);
    limiter.turnedAway(0, 1000);
    let ran = false;
    const run = limiter.run(NEVER, async () => {
      ran = true;
    });
    await clock.pass(1500);
    expect(ran).toBe(false);
    await clock.pass(1500);
    await run;
    expect(ran).toBe(true);
  });

  it('ends calls at once whose deadline comes first, whether they wait already or not', async () => {
    const limiter = new Limiter(1, 100, new HandClock());
    const { promise, open } = gate();
    const out = limiter.run(NEVER, () => promise);
    const waiting = limiter.run(leftMs(30_000), async () => 'never');
    limiter.turnedAway(0, 1_800_000);
    const limited = { code: 'rate_limited', details: { retryAfterMs: 1_800_000 } };
    await expect(waiting).rejects.toMatchObject(limited);
    await expect(limiter.run(leftMs(30_000), async () => 'never')).rejects.toMatchObject(limited);
    let ran = false;
    void limiter.run(NEVER, async () => {
      ran = true;
    });
    open();
    await out;
    await settled();
    expect(limiter.load).toEqual({ running: 0, waiting: 1 });
    expect(ran).toBe(false);
  });

  it('can be left, and is bounded like any queue', async () => {
    const clock = new HandClock();
    const limiter = new Limiter(4, 1, clock);
    limiter.turnedAway(0, 1000);
    const caller = new Canceller();
    const waiting = limiter.run(caller, async () => 'never');
    await expect(limiter.run(NEVER, async () => {})).rejects.toMatchObject({ code: 'overloaded' });
    caller.stop();
    await expect(waiting).rejects.toThrow(Stopped);
    await clock.pass(1000);
    expect(await limiter.run(NEVER, async () => 'free')).toBe('free');
  });

  it('is asked about again after an hour', async () => {
    const clock = new HandClock();
    const limiter = new Limiter(4, 1, clock);
    limiter.turnedAway(0, 300 * 24 * 3_600_000);
    await clock.pass(3_600_000);
    expect(await limiter.run(leftMs(1000), async () => 'free')).toBe('free');
  });

  it('of one endpoint holds no other', async () => {
    const clock = new HandClock();
    new Limiter(1, 1, clock).turnedAway(0, 60_000);
    expect(await new Limiter(1, 1, clock).run(leftMs(1000), async () => 'free')).toBe('free');
  });
});
