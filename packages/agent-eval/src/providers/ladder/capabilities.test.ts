import { describe, expect, it } from 'vitest';
import { Canceller, NEVER, Stopped } from '../../core/cancel.js';
import { systemClock } from '../../core/clock.js';
import { encodeText } from '../../core/encoded-text.js';
import type { ModelRequest } from '../types.js';
import { CapabilityMemory, type Probe } from './capabilities.js';

const REQUEST: ModelRequest = {
  model: 'm',
  system: encodeText('s'),
  user: 'u',
  schema: { name: 'verdict', json: '{}' },
  temperature: 0,
};
const TEMPERATURE = { feature: 'temperature', valueOnly: false } as const;
const MODE = { feature: 'mode', valueOnly: false } as const;

function sent(memory: CapabilityMemory, more: Partial<ModelRequest> = {}): Probe {
  const probe = memory.probe({ ...REQUEST, ...more });
  expect(probe.mayGo()).toBe(true);
  probe.shape();
  return probe;
}

describe('what calls learn together', () => {
  it('lets one call go first, and all once it was answered', () => {
    const memory = new CapabilityMemory(systemClock);
    const first = sent(memory);
    const second = memory.probe(REQUEST);
    expect(second.mayGo()).toBe(false);
    first.answered();
    expect(second.mayGo()).toBe(true);
    expect(memory.probe(REQUEST).mayGo()).toBe(true);
    expect(memory.probe({ ...REQUEST, model: 'other' }).mayGo()).toBe(true);
  });

  it('makes one call lead again after a refusal of what had worked', () => {
    const memory = new CapabilityMemory(systemClock);
    sent(memory).answered();
    const [a, b] = [sent(memory), sent(memory)];
    expect(a.refused(MODE)).toBe(true);
    expect(b.refused(MODE)).toBe(true);
    expect(a.mayGo()).toBe(true);
    expect(b.mayGo()).toBe(false);
    expect(a.shape().mode).toBe('tool_call');
    a.answered();
    expect(b.mayGo()).toBe(true);
    expect(b.shape().mode).toBe('tool_call');
  });

  it('keeps what another call has learned in the meantime', () => {
    const memory = new CapabilityMemory(systemClock);
    sent(memory).answered();
    const [a, b] = [sent(memory), sent(memory)];
    a.refused(TEMPERATURE);
    a.shape();
    a.refused(MODE);
    b.refused(TEMPERATURE);
    expect(b.shape()).toMatchObject({ temperature: false, mode: 'tool_call' });
  });

  it('asks about a parameter that no answered request has carried', () => {
    const memory = new CapabilityMemory(systemClock);
    sent(memory).answered();
    sent(memory, { seed: 1 });
    expect(memory.probe({ ...REQUEST, seed: 2 }).mayGo()).toBe(false);
    expect(memory.probe(REQUEST).mayGo()).toBe(true);
  });

  it('ends when every rung was refused', () => {
    const probe = sent(new CapabilityMemory(systemClock));
    const modes: string[] = [];
    while (probe.refused(MODE)) modes.push(probe.shape().mode);
    expect(modes).toEqual(['tool_call', 'json_object', 'text']);
  });

  it('lets a call wait no longer than its patience, and leave before', async () => {
    const memory = new CapabilityMemory(systemClock);
    sent(memory);
    const leaving = new Canceller();
    const left = memory.probe(REQUEST).wait(leaving);
    leaving.stop();
    await expect(left).rejects.toThrow(Stopped);
    const patient = memory.probe(REQUEST);
    await patient.wait(NEVER);
    expect(patient.mayGo()).toBe(false);
    const late = memory.probe(REQUEST);
    const waited = late.wait(NEVER);
    patient.shape();
    patient.answered();
    expect(late.mayGo()).toBe(true);
    await waited;
  });

  it('wakes one after another when the leading call ends without an answer', async () => {
    const memory = new CapabilityMemory(systemClock);
    const first = sent(memory);
    const others = [memory.probe(REQUEST), memory.probe(REQUEST)];
    const waits = others.map((probe) => probe.wait(NEVER));
    first.end();
    await waits[0];
    expect(others.map((probe) => probe.mayGo())).toEqual([true, false]);
    others[0]?.answered();
    await waits[1];
    expect(others[1]?.mayGo()).toBe(true);
  });

  it('forgets the model learned first beyond some hundreds', () => {
    const memory = new CapabilityMemory(systemClock);
    sent(memory).refused(TEMPERATURE);
    for (let i = 0; i < 512; i += 1) memory.probe({ ...REQUEST, model: `m${i}` });
    expect(memory.probe(REQUEST).shape().temperature).toBe(true);
  });
});
