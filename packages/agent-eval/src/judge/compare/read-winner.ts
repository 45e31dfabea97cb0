import { type ReplyFacts, readReply, start } from '../parse.js';
import { own, type Shape } from '../reply/unwrap.js';
import { type Outcome, unscored } from '../verdict.js';

/** A reply to a comparison, read and checked. */
export interface Preferred {
  winner: Place | 'tie';
  rationale: string;
  warnings: string[];
}

export type Place = 'first' | 'second';

const SHAPE: Shape = {
  main: 'winner',
  keys: ['winner', 'rationale'],
  isMain: (value) => typeof value === 'string',
};
const WINNERS: ReadonlySet<unknown> = new Set<Preferred['winner']>(['first', 'second', 'tie']);

export const WINNER_AGAIN =
  'Answer again with the whole reply: one JSON object and nothing else, with "winner" as "first", "second" or "tie".';

/** Reads a reply, or says what is wrong with it; a winner that is none of the three words is never guessed. */
export function readWinner(reply: ReplyFacts): Outcome<Preferred> {
  return readReply(reply, SHAPE, (value, text, found) => {
    const given = own(value, 'winner');
    if (given === undefined) {
      return unscored('judge_incomplete', 'The reply names no winner.', start(text));
    }
    const winner = typeof given === 'string' ? given.trim().toLowerCase() : given;
    if (!isWinner(winner)) {
      const message = 'The winner is neither "first" nor "second" nor "tie".';
      return unscored('judge_malformed', message, start(text));
    }
    const words = own(value, 'rationale');
    const rationale = typeof words === 'string' ? words : '';
    return { scored: true, verdict: { winner, rationale, warnings: [...found] } };
  });
}

function isWinner(value: unknown): value is Preferred['winner'] {
  return WINNERS.has(value);
}
