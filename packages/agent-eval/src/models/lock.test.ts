import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../core/clock.js';
import { withLock } from './lock.js';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'agent-eval-lock-'));
  file = path.join(folder, 'a.lock');
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const holder = (pid: number, host = hostname()): string => JSON.stringify({ host, pid });
const run = (): Promise<string> => withLock(file, 'a thing', async () => readFile(file, 'utf8'));

describe('a lock file', () => {
  it('is there during the task, names the process and is gone after it', async () => {
    expect(JSON.parse(await run())).toMatchObject({ host: hostname(), pid: process.pid });
    expect(await readdir(folder)).toEqual([]);
  });

  it('is gone after a task that fails', async () => {
    const failing = withLock(file, 'a thing', () => Promise.reject(new Error('no luck')));
    await expect(failing).rejects.toThrow('no luck');
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    ['a live process', holder(process.ppid)],
    ['a process of another machine', holder(999_999_999, 'elsewhere')],
    ['a process that is just writing it', ''],
  ])('of %s is respected', async (_who, text) => {
    await writeFile(file, text);
    await expect(run()).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await readFile(file, 'utf8')).toBe(text);
  });

  it.each([
    ['a process that has ended', holder(999_999_999)],
    ['an earlier process with our own id', holder(process.pid)],
  ])('of %s is taken over', async (_who, text) => {
    await writeFile(file, text);
    expect(JSON.parse(await run())).toHaveProperty('token');
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    ['another machine', holder(1, 'elsewhere')],
    ['nobody', ''],
  ])('of %s is taken over after a minute of silence', async (_who, text) => {
    await writeFile(file, text);
    const past = Date.now() / 1000 - 61;
    await utimes(file, past, past);
    expect(JSON.parse(await run())).toHaveProperty('token');
  });

  it('is refused to a second task of the same process', async () => {
    await withLock(file, 'a thing', async () => {
      await expect(run()).rejects.toMatchObject({ code: 'service_unavailable' });
    });
  });

  it('is kept alive while the task runs', async () => {
    let tick = (): void => {};
    let now = Date.now();
    const clock: Clock = {
      ...systemClock,
      now: () => now,
      setTimer(fn) {
        tick = fn;
        return () => {};
      },
    };
    const task = async (): Promise<void> => {
      now += 3_600_000;
      tick();
      await new Promise((resolve) => setTimeout(resolve, 50));
      const second = withLock(file, 'a thing', async () => {}, clock);
      await expect(second).rejects.toMatchObject({ code: 'service_unavailable' });
    };
    await withLock(file, 'a thing', task, clock);
  });

  it('is never held by two of many that find it stale', async () => {
    let [holding, most] = [0, 0];
    const task = async (): Promise<void> => {
      holding += 1;
      most = Math.max(most, holding);
      await new Promise((resolve) => setTimeout(resolve, 2));
      holding -= 1;
    };
    for (let round = 0; round < 20; round += 1) {
      await writeFile(file, holder(999_999_999));
      const all = Array.from({ length: 20 }, () => withLock(file, 'a thing', task));
      const ends = await Promise.allSettled(all);
      expect(ends.some(({ status }) => status === 'fulfilled')).toBe(true);
      expect(await readdir(folder)).toEqual([]);
    }
    expect(most).toBe(1);
  });
});
