import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Canceller, Stopped } from '../core/cancel.js';
import { type Clock, systemClock } from '../core/clock.js';
import { type Deadline, startDeadline } from '../core/deadline.js';
import { loadSqlite } from '../store/sqlite.js';
import { VerdictCache } from './verdict-cache.js';
import { VerdictFile } from './verdict-file.js';

let folder: string;
let file: string;
let warnings: string[];
const closers: (() => unknown)[] = [];
const deadlines: Deadline[] = [];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'cache-'));
  file = path.join(folder, 'deep', 'verdicts.db');
  warnings = [];
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  for (const deadline of deadlines.splice(0)) deadline.release();
  rmSync(folder, { recursive: true });
});

interface Limits {
  maxBytes?: number;
  maxAgeMs?: number | null;
  clock?: Clock;
}

async function openFile(limits: Limits = {}): Promise<VerdictFile> {
  const opened = await VerdictFile.open({
    file,
    clock: systemClock,
    maxBytes: 1e9,
    maxAgeMs: null,
    warn: (message) => warnings.push(message),
    ...limits,
  });
  closers.push(() => opened.close());
  return opened;
}

function cache(): VerdictCache {
  const made = new VerdictCache({
    open: () => openFile(),
    warn: (message) => warnings.push(message),
  });
  closers.push(() => made.close());
  return made;
}

function deadline(caller?: Canceller, timeoutMs = 60_000): Deadline {
  const made = startDeadline(systemClock, timeoutMs, caller);
  deadlines.push(made);
  return made;
}

/** Work that ends when the test says so. */
function work() {
  const limits: Deadline[] = [];
  let finish = (_value: { n: number }): void => {};
  let fail = (_error: Error): void => {};
  return {
    limits,
    make: (limit: Deadline) => {
      limits.push(limit);
      return new Promise<{ n: number }>((resolve, reject) => {
        finish = resolve;
        fail = reject;
      });
    },
    finish: (n: number) => finish({ n }),
    fail: (error: Error) => fail(error),
  };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('callers at the same time', () => {
  it('share one making, and one of them pays', async () => {
    const shared = cache();
    const { make, finish, limits } = work();
    const calls = Array.from({ length: 5 }, () => shared.through('k', 'use', deadline(), make));
    await turn();
    finish(7);
    const landed = await Promise.all(calls);
    expect(limits).toHaveLength(1);
    expect(landed.map(({ value }) => value)).toEqual(Array(5).fill({ n: 7 }));
    expect(landed.map(({ fresh }) => fresh)).toEqual([true, false, false, false, false]);
    expect(landed[1]?.value).not.toBe(landed[2]?.value);
  });

  it('do not lose it when the first of them leaves, who then pays nothing', async () => {
    const shared = cache();
    const { make, finish, limits } = work();
    const first = new Canceller();
    const left = shared.through('k', 'use', deadline(first), make);
    const stays = shared.through('k', 'use', deadline(), make);
    await turn();
    first.stop();
    await expect(left).rejects.toBeInstanceOf(Stopped);
    expect(limits[0]?.stopped).toBe(false);
    finish(1);
    expect(await stays).toEqual({ value: { n: 1 }, fresh: true });
  });

  it('stop it when all of them have left, and the next begins anew', async () => {
    const shared = cache();
    const abandoned = work();
    const callers = [new Canceller(), new Canceller()];
    const left = callers.map((one) => shared.through('k', 'use', deadline(one), abandoned.make));
    await turn();
    for (const one of callers) one.stop();
    for (const call of left) await expect(call).rejects.toBeInstanceOf(Stopped);
    expect(abandoned.limits[0]?.stopReason()).toBe('cancelled');
    const again = work();
    const next = shared.through('k', 'use', deadline(), again.make);
    await turn();
    abandoned.fail(new Stopped());
    again.finish(2);
    expect((await next).value).toEqual({ n: 2 });
  });

  it('give it the time of the most patient', async () => {
    const shared = cache();
    const { make, finish, limits } = work();
    const calls = [10_000, 50_000].map((ms) =>
      shared.through('k', 'use', deadline(undefined, ms), make),
    );
    await turn();
    expect(limits[0]?.remainingMs()).toBeGreaterThan(40_000);
    finish(1);
    await Promise.all(calls);
  });

  it('all hear of a failure, which is not remembered', async () => {
    const shared = cache();
    const { make, fail } = work();
    const calls = [1, 2].map(() => shared.through('k', 'use', deadline(), make));
    await turn();
    fail(new Error('no verdict'));
    for (const call of calls) await expect(call).rejects.toThrow('no verdict');
    const next = await shared.through('k', 'use', deadline(), async () => ({ n: 3 }));
    expect(next).toEqual({ value: { n: 3 }, fresh: true });
  });
});

describe('modes', () => {
  it('bypass neither reads nor remembers, refresh asks anew and remembers', async () => {
    const shared = cache();
    const ask = async (mode: 'use' | 'bypass' | 'refresh', n: number) =>
      (await shared.through('k', mode, deadline(), async () => ({ n }))).value.n;
    expect(await ask('bypass', 1)).toBe(1);
    expect(await ask('use', 2)).toBe(2);
    expect(await ask('use', 3)).toBe(2);
    expect(await ask('bypass', 4)).toBe(4);
    expect(await ask('use', 5)).toBe(2);
    expect(await ask('refresh', 6)).toBe(6);
    expect(await ask('use', 7)).toBe(6);
  });
});

describe('the file', () => {
  it('is for its user alone, and serves every process that opens it', async () => {
    const one = await openFile();
    const two = await openFile();
    await one.put('k', '{"n":1}');
    expect(await two.get('k')).toBe('{"n":1}');
    expect(await two.get('other')).toBeNull();
    for (const name of readdirSync(path.dirname(file))) {
      expect(statSync(path.join(path.dirname(file), name)).mode & 0o077).toBe(0);
    }
  });

  it('forgets what is too old', async () => {
    let now = 1_000_000;
    const clock = { ...systemClock, now: () => now };
    const opened = await openFile({ maxAgeMs: 1000, clock });
    await opened.put('k', '1');
    now += 1000;
    expect(await opened.get('k')).toBe('1');
    now += 1;
    expect(await opened.get('k')).toBeNull();
    expect(await opened.clear(1000)).toBe(1);
    expect((await opened.stats()).entries).toBe(0);
  });

  it('stays near its size, and loses the oldest first', async () => {
    let now = 0;
    const clock = { ...systemClock, now: () => ++now };
    const opened = await openFile({ maxBytes: 1_000_000, clock });
    for (let i = 0; i < 4000; i += 1) await opened.put(`k${i}`, 'x'.repeat(1000));
    expect((await opened.stats()).bytes).toBeLessThan(2_000_000);
    expect(await opened.get('k0')).toBeNull();
    expect(await opened.get('k3999')).not.toBeNull();
  });

  it('clears everything, and gives the space back', async () => {
    const opened = await openFile();
    for (let i = 0; i < 500; i += 1) await opened.put(`k${i}`, 'x'.repeat(2000));
    await opened.clear(60_000);
    expect((await opened.stats()).entries).toBe(500);
    const { bytes } = await opened.stats();
    expect(await opened.clear()).toBe(500);
    expect(await opened.stats()).toMatchObject({ entries: 0, oldest: null, newest: null });
    expect(statSync(file).size).toBeLessThan(bytes / 4);
  });
});

/** Every kind of damage is followed by one warning and an empty cache, with the old file kept. */
describe('a damaged file', () => {
  async function filled(): Promise<void> {
    const opened = await openFile();
    for (let i = 0; i < 500; i += 1) await opened.put(`k${i}`, 'x'.repeat(900));
    opened.close();
  }
  const kept = () => readdirSync(path.dirname(file)).filter((name) => name.includes('.corrupt-'));

  it.each([
    ['garbage', (bytes: Buffer) => bytes.fill(0x5a)],
    ['a text', () => Buffer.from('this is no database, but a text of some length')],
    ['an empty log of pages', (bytes: Buffer) => bytes.fill(0, 4096)],
  ])('that is %s', async (_name, damage) => {
    await filled();
    const before = damage(readFileSync(file));
    writeFileSync(file, before);
    const shared = cache();
    const ask = (n: number) => shared.through('k1', 'use', deadline(), async () => ({ n }));
    expect((await ask(1)).value).toEqual({ n: 1 });
    expect((await ask(2)).value).toEqual({ n: 1 });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(file);
    expect(kept().filter((name) => !/-(wal|shm)$/.test(name))).toHaveLength(1);
  });

  it('that lost its second half gives right answers only', async () => {
    const opened = await openFile();
    for (let i = 0; i < 500; i += 1)
      await opened.put(`k${i}`, `{"n":${i},"x":"${'x'.repeat(900)}"}`);
    await opened.clear(60_000);
    opened.close();
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.subarray(0, bytes.length / 2));
    const shared = cache();
    const made: number[] = [];
    for (let n = 0; n < 500; n += 1) {
      const make = async () => ({ n: made.push(n) && n });
      expect((await shared.through(`k${n}`, 'use', deadline(), make)).value.n).toBe(n);
    }
    expect(made.length).toBeGreaterThan(100);
    expect(warnings).toHaveLength(1);
    expect(kept().length).toBeGreaterThan(0);
  });

  it('that is damaged while it is in use', async () => {
    const opened = await openFile();
    for (let i = 0; i < 500; i += 1) await opened.put(`k${i}`, 'x'.repeat(900));
    await opened.clear(60_000);
    writeFileSync(file, readFileSync(file).fill(0x5a, 4096));
    const other = await openFile();
    const found = await Promise.all([other.get('k1'), other.get('k2'), other.get('k499')]);
    expect(found).toEqual([null, null, null]);
    await other.put('k1', 'new');
    expect(await other.get('k1')).toBe('new');
    expect(warnings).toHaveLength(1);
  });

  it('with a flipped bit in a verdict gives nothing rather than the wrong verdict', async () => {
    const opened = await openFile();
    await opened.put('k', '{"composite":0.25}');
    // Brings the log into the file.
    await opened.clear(60_000);
    opened.close();
    const bytes = readFileSync(file);
    const at = bytes.indexOf('0.25');
    expect(at).toBeGreaterThan(0);
    bytes.write('0.75', at);
    writeFileSync(file, bytes);
    expect(await (await openFile()).get('k')).toBeNull();
  });
});

describe('a file that is not ours', () => {
  it('is left alone', async () => {
    const { DatabaseSync } = loadSqlite();
    file = path.join(folder, 'app.db');
    const theirs = new DatabaseSync(file);
    theirs.exec('CREATE TABLE notes (text TEXT)');
    theirs.close();
    const before = readFileSync(file);
    await expect(openFile()).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(readFileSync(file)).toEqual(before);
    expect(existsSync(`${file}-wal`)).toBe(false);
  });

  it('is said when it is a folder', async () => {
    file = folder;
    await expect(openFile()).rejects.toThrow(/can't be opened for writing \(EISDIR\)/);
  });
});
