import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { type Clock, systemClock } from './clock.js';
import { startDeadline } from './deadline.js';
import { displayUrl, redactor } from './redact.js';
import { DEFAULT_RETRY, retryAfterMs, retryDelayMs } from './retry.js';
import { beginning, cleanDeep, cleanText, NestedTooDeep, nearNames } from './text.js';

describe('text', () => {
  it('replaces lone surrogates and NUL, and nothing else', () => {
    expect(cleanText('a\ud83d b\u0000\ude00')).toBe('a\ufffd b\ufffd\ufffd');
    expect(cleanText('🚀\ufeff')).toBe('🚀\ufeff');
    expect(cleanDeep({ '\ud800': ['\u0000', 1, null, true] })).toEqual({
      '\ufffd': ['\ufffd', 1, null, true],
    });
  });

  it('leaves nothing that JSON or a hash would choke on', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(cleanText(text).isWellFormed()).toBe(true);
        expect(cleanText(text)).not.toContain('\u0000');
      }),
    );
  });

  it('keeps __proto__ as an ordinary key', () => {
    const cleaned = cleanDeep(JSON.parse('{"__proto__": "x"}'));
    expect(Object.keys(cleaned as object)).toEqual(['__proto__']);
  });

  it('refuses a value that is nested too deep to be walked', () => {
    const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
    expect(() => cleanDeep(deep)).toThrow(NestedTooDeep);
  });

  it('finds near names', () => {
    expect(nearNames('anti-slopp', ['anti-slop', 'safety'])).toEqual(['anti-slop']);
    expect(nearNames('zzz', ['anti-slop', 'safety'])).toEqual([]);
    expect(beginning('abc', 2)).toBe('ab…');
  });
});

describe('retries', () => {
  it('never wait less than the minimum gap', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (attempt, random) => {
          const delay = retryDelayMs(DEFAULT_RETRY, attempt, () => random);
          expect(delay).toBeGreaterThanOrEqual(DEFAULT_RETRY.minGapMs);
          expect(delay).toBeLessThanOrEqual(DEFAULT_RETRY.maxMs);
        },
      ),
    );
    expect(retryDelayMs(DEFAULT_RETRY, 1, () => 0, 0)).toBe(DEFAULT_RETRY.minGapMs);
  });

  const now = Date.parse('2026-12-01T00:00:00Z');
  it.each([
    [{ 'retry-after': '2' }, 2000],
    [{ 'retry-after': '1.5' }, 1500],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': 'Tue, 01 Dec 2026 00:00:03 GMT' }, 3000],
    [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': 'Wed, 21 Oct 99999 07:28:00 GMT' }, undefined],
    [{ 'retry-after': 'Mon, 30 Nov 2026 00:00:00 GMT' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{ 'retry-after': '1e9' }, undefined],
    [{ 'retry-after': 'NaN' }, undefined],
    [{}, undefined],
  ] as [Record<string, string>, number | undefined][])('reads %j', (headers, expected) => {
    expect(retryAfterMs((name) => headers[name], now)).toBe(expected);
  });
});

describe('secrets', () => {
  it('are hidden in every spelling', () => {
    const secret = 'sk-"a+b/c"=1';
    const hide = redactor([secret, 'abc']);
    const text = [
      secret,
      encodeURIComponent(secret),
      JSON.stringify({ key: secret }),
      Buffer.from(secret).toString('base64'),
    ].join(' ');
    const hidden = hide(text);
    expect(hidden).not.toContain('a+b/c');
    expect(hidden).not.toContain(Buffer.from(secret).toString('base64'));
    expect(hide('abc')).toBe('abc');
  });

  it('never show in an address', () => {
    expect(displayUrl('https://user:pw@h.example/v1?token=t1#x')).toBe(
      'https://h.example/v1?token=***',
    );
  });
});

describe('a deadline', () => {
  it('fires as a timeout, once, and lets go of the caller', () => {
    let fire = (): void => {};
    const setTimer: Clock['setTimer'] = (fn) => {
      fire = fn;
      return () => {};
    };
    const clock: Clock = { ...systemClock, setTimer };
    const caller = new AbortController();
    const remove = vi.spyOn(caller.signal, 'removeEventListener');
    const deadline = startDeadline(clock, 50, caller.signal);
    expect(deadline.stopReason()).toBeNull();
    fire();
    caller.abort();
    expect(deadline.stopReason()).toBe('timeout');
    expect(deadline.signal.aborted).toBe(true);
    deadline.release();
    expect(remove).toHaveBeenCalledTimes(1);
  });

  it('fires as cancelled when the caller leaves, also when it had left before', () => {
    const caller = new AbortController();
    const deadline = startDeadline(systemClock, 60_000, caller.signal);
    caller.abort();
    expect(deadline.stopReason()).toBe('cancelled');
    deadline.release();
    expect(startDeadline(systemClock, 1, AbortSignal.abort()).stopReason()).toBe('cancelled');
  });
});
