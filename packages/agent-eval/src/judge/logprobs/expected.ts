import type { TokenPlace } from '../../providers/types.js';
import { candidates, valueStart } from './token-text.js';

/** Numbers must carry this much of the probability for their mean to count. */
const MIN_MASS = 0.5;

/**
 * The expected value of a whole number that begins with the token at `at`, over the tokens that could have
 * stood there. Null where they say too little: none of the likeliest is a number on the scale, or all of
 * them together are unlikely.
 */
export function expectedNumber(
  places: readonly TokenPlace[],
  at: number,
  scale: { min: number; max: number },
): number | null {
  const first = places[at];
  if (first === undefined || !first.top.some(({ token }) => /^\d/.test(valueStart(token)))) {
    return null;
  }
  const masses = new Map<string, number>();
  const add = (digits: string, p: number): void => {
    masses.set(digits, (masses.get(digits) ?? 0) + p);
  };
  /** The number so far, of which the reply shows how it goes on, and how likely it is. */
  let written: { digits: string; p: number } | null = { digits: '', p: 1 };
  for (let i = at; written !== null; i += 1) {
    const place = places[i];
    if (place === undefined) {
      add(written.digits, written.p);
      break;
    }
    written = readPlace(place, written, longerNumbers(scale, place), add);
  }
  return mean(masses, scale);
}

/** Counts what each token at a place makes of the number so far; gives the number if the written token leaves it open. */
function readPlace(
  place: TokenPlace,
  { digits: before, p: likely }: { digits: string; p: number },
  canGrow: (digits: string) => boolean,
  add: (digits: string, p: number) => void,
): { digits: string; p: number } | null {
  let next: { digits: string; p: number } | null = null;
  for (const { token, p: own } of candidates(place)) {
    const text = before === '' ? valueStart(token) : token;
    const added = /^\d*/.exec(text)?.[0] ?? '';
    const digits = before + added;
    const rest = text.slice(added.length);
    const p = likely * own;
    if (rest === '' && token === place.token) next = { digits, p };
    else if (digits === '' || !endsNumber(rest)) continue;
    else if (rest !== '' || !canGrow(digits)) add(digits, p);
  }
  return next;
}

/** What may follow a whole number. */
function endsNumber(rest: string): boolean {
  return rest === '' || /^[\s,}\]"']/.test(rest);
}

/**
 * Whether digits might be the beginning of a longer number on the scale: then a token that was not written
 * says nothing, as nobody knows what would have followed. With tokens of several digits it would be one.
 */
function longerNumbers(
  { min, max }: { min: number; max: number },
  { top }: TokenPlace,
): (digits: string) => boolean {
  if (top.some(({ token }) => /^\d\d/.test(valueStart(token)))) return () => false;
  const numbers = Array.from({ length: max - min + 1 }, (_, i) => String(min + i));
  return (digits) =>
    numbers.some((number) => number.length > digits.length && number.startsWith(digits));
}

function mean(
  masses: Map<string, number>,
  { min, max }: { min: number; max: number },
): number | null {
  let total = 0;
  let sum = 0;
  for (const [digits, p] of masses) {
    const value = Number(digits);
    if (value < min || value > max || String(value) !== digits) continue;
    total += p;
    sum += value * p;
  }
  return total >= MIN_MASS ? Math.min(max, Math.max(min, sum / total)) : null;
}
