import { expect, it } from 'vitest';
import { Slots } from './slots.js';

async function settled(promise: Promise<void> | undefined): Promise<boolean> {
  let done = promise === undefined;
  void promise?.then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

it('holds back who takes more places than there are, until one is free', async () => {
  const slots = new Slots(2);
  slots.take();
  expect(slots.ready()).toBeUndefined();
  slots.take();
  const ready = slots.ready();
  expect(await settled(ready)).toBe(false);
  slots.free();
  expect(await settled(ready)).toBe(true);
  slots.take();
  expect(await settled(slots.ready())).toBe(false);
});

it('is idle once every place has been given back', async () => {
  const slots = new Slots(2);
  expect(slots.idle()).toBeUndefined();
  slots.take();
  slots.take();
  const idle = slots.idle();
  slots.free();
  expect(await settled(idle)).toBe(false);
  slots.free();
  expect(await settled(idle)).toBe(true);
});
