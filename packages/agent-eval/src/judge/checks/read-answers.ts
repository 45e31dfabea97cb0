import { type ReplyFacts, readReply, start } from '../parse.js';
import { isObject, own, type Shape } from '../reply/unwrap.js';
import { type Outcome, unscored } from '../verdict.js';
import type { YesNo } from './scoring.js';

/** A reply to yes/no questions, read and checked. */
export interface Answers {
  /** By question id. */
  answers: Map<string, YesNo>;
  rationale: string;
  warnings: string[];
}

const SHAPE: Shape = { main: 'answers', keys: ['answers', 'rationale'], isMain: isObject };

export const ANSWERS_AGAIN =
  'Answer again with the whole reply: one JSON object and nothing else, with "yes" or "no" for every question id.';

/** Reads a reply, or says what is wrong with it; every question must have its plain answer. */
export function readAnswers(ids: readonly string[], reply: ReplyFacts): Outcome<Answers> {
  return readReply(reply, SHAPE, (value, text, found) => {
    const all = own(value, 'answers');
    const given = isObject(all) ? all : {};
    const missing = ids.filter((id) => !Object.hasOwn(given, id));
    if (missing.length > 0) {
      const names = missing.slice(0, 5).join(', ');
      const details = { missing, ...start(text) };
      return unscored('judge_incomplete', `The reply lacks an answer to ${names}.`, details);
    }
    const answers = new Map<string, YesNo>();
    for (const id of ids) {
      const answer = yesOrNo(own(given, id));
      if (answer === null) {
        const details = { question: id, ...start(text) };
        return unscored('judge_malformed', `The answer to ${id} is neither yes nor no.`, details);
      }
      answers.set(id, answer ? { yes: 1, no: 0 } : { yes: 0, no: 1 });
    }
    const words = own(value, 'rationale');
    const rationale = typeof words === 'string' ? words : '';
    return { scored: true, verdict: { answers, rationale, warnings: [...found] } };
  });
}

function yesOrNo(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' && value.length < 16 ? value.trim().toLowerCase() : '';
  if (word === 'yes') return true;
  return word === 'no' ? false : null;
}
