import type { Rubric } from '@tangle-network/agent-eval-contract';
import { type EncodedText, encodeText } from '../core/encoded-text.js';
import { rubricVersion } from '../rubrics/version.js';
import { systemMessage } from './prompt.js';
import { replySchema } from './reply-schema.js';

/** What is made of a rubric once and used by every judgement. */
export interface CompiledRubric {
  rubric: Rubric;
  version: string;
  system: EncodedText;
  schema: { name: string; json: string };
}

const compiled = new WeakMap<Rubric, CompiledRubric>();

/** Compiles a rubric, once for each object. */
export function compileRubric(rubric: Rubric): CompiledRubric {
  const known = compiled.get(rubric);
  if (known !== undefined) return known;
  const made: CompiledRubric = {
    rubric,
    version: rubricVersion(rubric),
    system: encodeText(systemMessage(rubric)),
    schema: { name: 'verdict', json: replySchema(rubric) },
  };
  compiled.set(rubric, made);
  return made;
}
