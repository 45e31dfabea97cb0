import { describe, expect, it } from 'vitest';
import { decide, type Said } from './decide.js';

const said = (...winners: ('a' | 'b' | 'tie' | null)[]): Said[] =>
  winners.map((winner) => (winner === null ? null : { winner, rationale: `for ${winner}` }));

describe('comparisons come to', () => {
  it.each([
    ['a text preferred in both orders', [said('b', 'b')], 'b', false, 1, 1],
    ['a tie where the first place always wins', [said('a', 'b')], 'tie', true, 0, 1],
    ['a tie where the second place always wins', [said('b', 'a')], 'tie', true, 0, 1],
    [
      'a tie where one order is undecided, which is no flip',
      [said('a', 'tie')],
      'tie',
      false,
      0,
      1,
    ],
    ['a tie that both orders see', [said('tie', 'tie')], 'tie', false, 1, 1],
    [
      'the text that most comparisons prefer',
      [said('a', 'a'), said('a', 'a'), said('b', 'a')],
      'a',
      true,
      2 / 3,
      3,
    ],
    ['a tie without a majority', [said('a', 'a'), said('b', 'b')], 'tie', false, 1, 2],
    ['a tie where half prefer a text', [said('a', 'a'), said('tie', 'tie')], 'tie', false, 1, 2],
    ['nothing when the only one lacks an order', [said('a', null)], null, false, null, 0],
    [
      'nothing when half of them lack an order',
      [said('a', 'a'), said(null, 'a')],
      null,
      false,
      1,
      1,
    ],
    [
      'what the complete majority says',
      [said('a', 'a'), said('a', 'a'), said(null, 'b')],
      'a',
      false,
      1,
      2,
    ],
    ['what a single order says, where only one was wanted', [said('b')], 'b', false, null, 1],
  ] as const)('%s', (_, comparisons, winner, flipped, consistency, n) => {
    expect(decide(comparisons)).toMatchObject({ winner, flipped, consistency, n });
  });

  it('a warning where an order is missing or was not wanted', () => {
    expect(decide([said('a', null)]).warnings[0]).toBe('singleOrder');
    expect(decide([said('a')]).warnings[0]).toContain('one order only');
    expect(decide([said('a', 'a')]).warnings).toEqual([]);
  });

  it('the rationale of an order that chose the winner', () => {
    expect(decide([said('b', 'a'), said('a', 'a'), said('a', 'a')]).rationale).toBe('for a');
    expect(decide([said('a', 'b')]).rationale).toBe('for a');
  });
});
