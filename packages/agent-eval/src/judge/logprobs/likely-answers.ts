import type { TokenPlace } from '../../providers/types.js';
import type { YesNo } from '../checks/scoring.js';
import { candidates, placedValues, valueStart } from './token-text.js';

/** Yes and no together must carry this much of the probability for an answer to count. */
const MIN_MASS = 0.5;

/**
 * How likely yes and no were where each answer was written. Null unless that is known for every answer:
 * certainties and probabilities in one verdict would not compare.
 */
export function likelyAnswers(
  answers: ReadonlyMap<string, YesNo>,
  places: readonly TokenPlace[] | null,
): Map<string, YesNo> | null {
  if (places === null) return null;
  const placed = placedValues(places, 'answers');
  const likely = new Map<string, YesNo>();
  for (const [id, { yes }] of answers) {
    const value = placed.get(id);
    const place = value === undefined ? undefined : places[value.token];
    if (value === undefined || place === undefined) return null;
    if (meaning(value.text) !== (yes === 1 ? 'yes' : 'no')) return null;
    const masses = massesAt(place);
    if (masses.yes + masses.no < MIN_MASS) return null;
    likely.set(id, masses);
  }
  return likely;
}

function massesAt(place: TokenPlace): YesNo {
  const masses = { yes: 0, no: 0 };
  if (place.top.length === 0) return masses;
  for (const { token, p } of candidates(place)) {
    const answer = meaning(valueStart(token));
    if (answer !== null) masses[answer] += p;
  }
  return masses;
}

/** What a word, or the beginning of one, answers. */
function meaning(text: string): 'yes' | 'no' | null {
  const word = /^[a-z]+/i.exec(text)?.[0].toLowerCase();
  if (word === undefined) return null;
  if ('yes'.startsWith(word) || 'true'.startsWith(word)) return 'yes';
  return 'no'.startsWith(word) || 'false'.startsWith(word) ? 'no' : null;
}
