import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { LlamaModel, LlamaRuntime, Token } from './runtime-types.js';

/** Stands for the user's text while the chat template is rendered. */
const MARK = '\u0002USER\u0003';

/**
 * Tokens before and after the user's message in the model's own chat template. The message itself never
 * goes through the template, so that its words can't become part of it.
 */
export function chatTemplate(
  runtime: LlamaRuntime,
  model: LlamaModel,
  system: string,
): { head: Token[]; tail: Token[] } {
  const { contextText } = runtime.resolveChatWrapper(model).generateContextState({
    chatHistory: [
      { type: 'system', text: system },
      { type: 'user', text: MARK },
      { type: 'model', response: [] },
    ],
  });
  const values = [...contextText.values];
  const at = values.findIndex((value) => typeof value === 'string' && value.includes(MARK));
  if (at < 0) {
    throw new AgentEvalError(
      'local_model_invalid',
      "The model's chat template has no place for a user's message: use an instruction-tuned model.",
    );
  }
  const [before = '', after = ''] = String(values[at]).split(MARK);
  const tokens = (part: unknown[]): Token[] => {
    const filled = part.filter((value) => value !== '');
    return filled.length === 0 ? [] : runtime.LlamaText(filled).tokenize(model.tokenizer);
  };
  return {
    head: tokens([...values.slice(0, at), before]),
    tail: tokens([after, ...values.slice(at + 1)]),
  };
}
