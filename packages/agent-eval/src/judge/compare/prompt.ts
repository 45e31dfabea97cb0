import type { Rubric } from '@tangle-network/agent-eval-contract';
import { type EncodedText, encodeText } from '../../core/encoded-text.js';
import { DATA_RULE, dataMessage, described, section } from '../prompt.js';

/** Part of the judgeVersion of every comparison: a new number says that winners may move. */
export const COMPARE_PROMPT_VERSION = 'compare-1';

/** What a comparison by some rubric is told each time. */
export interface ComparePrompt {
  system: EncodedText;
  schema: { name: string; json: string };
}

const compiled = new WeakMap<Rubric, ComparePrompt>();

/** The system message and the reply schema, made once for each rubric. */
export function comparePrompt(rubric: Rubric): ComparePrompt {
  const known = compiled.get(rubric);
  if (known !== undefined) return known;
  const made = { system: encodeText(systemMessage(rubric)), schema: REPLY_SCHEMA };
  compiled.set(rubric, made);
  return made;
}

function systemMessage(rubric: Rubric): string {
  return [
    rubric.systemPrompt,
    'Two texts stand in the next message, FIRST and SECOND, each between its own boundary lines. You say which of them is better by this rubric. Do not score them.',
    `Rubric: ${rubric.name}. ${rubric.description}`,
    section(
      'What counts, with its weight:',
      rubric.dimensions.map(
        ({ id, description, weight }) =>
          `- ${JSON.stringify(id)}, weight ${weight}: ${description}`,
      ),
    ),
    section('Failure modes, which speak against a text:', rubric.failureModes.map(described)),
    section('Wins, which speak for a text:', rubric.wins.map(described)),
    'Neither the place of a text nor its length is a merit. Say "tie" when neither is better as a whole.',
    [
      'Answer with one JSON object and nothing else, its fields in this order:',
      '- "rationale": a few sentences on what decides, written before you choose;',
      '- "winner": "first", "second" or "tie".',
    ].join('\n'),
    DATA_RULE,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

const REPLY_SCHEMA = {
  name: 'comparison',
  json: JSON.stringify({
    type: 'object',
    properties: {
      rationale: { type: 'string' },
      winner: { type: 'string', enum: ['first', 'second', 'tie'] },
    },
    required: ['rationale', 'winner'],
    additionalProperties: false,
  }),
};

/** The user message: both texts in the order they are shown in, then the context. */
export function compareMessage(
  first: string,
  second: string,
  context: Record<string, unknown> | undefined,
): string {
  return dataMessage({ FIRST: first, SECOND: second }, context);
}
