import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { Canceller, cancellationOf, Stopped, signalOf } from './cancel.js';
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
    const caller = new Canceller();
    const left = vi.fn();
    const deadline = startDeadline(clock, 50, {
      stopped: false,
      onStop: (fn) => {
        caller.onStop(fn);
        return left;
      },
    });
    const stopped = vi.fn();
    deadline.onStop(stopped);
    expect(deadline.stopReason()).toBeNull();
    fire();
    caller.stop();
    expect(deadline.stopReason()).toBe('timeout');
    expect(deadline.stopped).toBe(true);
    expect(stopped).toHaveBeenCalledTimes(1);
    deadline.release();
    expect(left).toHaveBeenCalledTimes(1);
  });

  it('fires as cancelled when the caller leaves, also when it had left before', () => {
    const caller = new Canceller();
    const deadline = startDeadline(systemClock, 60_000, caller);
    caller.stop();
    expect(deadline.stopReason()).toBe('cancelled');
    deadline.release();
    const gone = cancellationOf(AbortSignal.abort());
    expect(startDeadline(systemClock, 1, gone).stopReason()).toBe('cancelled');
  });
});

describe('a cancellation', () => {
  it('tells each listener once, a late one at once, and none that left', () => {
    const canceller = new Canceller();
    const [early, left, late] = [vi.fn(), vi.fn(), vi.fn()];
    canceller.onStop(early);
    canceller.onStop(left)();
    canceller.stop();
    canceller.stop();
    canceller.onStop(late);
    expect([early, left, late].map((fn) => fn.mock.calls.length)).toEqual([1, 0, 1]);
  });

  it('is seen by an AbortSignal made from it, and sees one', () => {
    const canceller = new Canceller();
    const signal = signalOf(canceller);
    const seen = cancellationOf(signal);
    const [told, left] = [vi.fn(), vi.fn()];
    seen.onStop(told);
    seen.onStop(left)();
    expect([signal.aborted, seen.stopped]).toEqual([false, false]);
    canceller.stop();
    expect([signal.aborted, seen.stopped]).toEqual([true, true]);
    expect(signal.reason).toBeInstanceOf(Stopped);
    expect([told.mock.calls.length, left.mock.calls.length]).toEqual([1, 0]);
  });
});
