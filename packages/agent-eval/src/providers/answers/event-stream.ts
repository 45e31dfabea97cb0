import { parseJson } from '../../core/json.js';
import { first, member, textOf } from './error-body.js';

/** Whether a body is an event stream: some gateways send one though none was asked for. */
export function isEventStream(body: string): boolean {
  return /^\s*(?:data|event|id|retry)?:/.test(body.slice(0, 200));
}

/**
 * The completion that the pieces of an event stream add up to, in the shape of a plain one; undefined when
 * the stream breaks off before its end.
 */
export function joinEventStream(body: string): unknown {
  const message: Record<string, string> = {};
  let finishReason: unknown = null;
  let toolArguments = '';
  let model: unknown;
  let usage: unknown;
  let done = false;
  for (const line of body.split(/\r\n|\n|\r/)) {
    if (!line.startsWith('data:')) continue;
    const data = line.slice(5).trim();
    if (data === '[DONE]') {
      done = true;
      break;
    }
    const event = parseJson(data);
    const error = member(event, 'error');
    if (error !== undefined && error !== null) return { error };
    model ??= member(event, 'model');
    usage = member(event, 'usage') ?? usage;
    const choice = first(member(event, 'choices'));
    // A gateway may also send one whole completion as its only event.
    const delta = member(choice, 'delta') ?? member(choice, 'message');
    for (const name of ['content', 'refusal', 'reasoning_content', 'reasoning']) {
      const piece = textOf(member(delta, name));
      if (piece !== '') message[name] = (message[name] ?? '') + piece;
    }
    const call = first(member(delta, 'tool_calls'));
    toolArguments += textOf(member(member(call, 'function'), 'arguments'));
    finishReason = member(choice, 'finish_reason') ?? finishReason;
  }
  if (!done && finishReason === null) return undefined;
  const calls = toolArguments === '' ? undefined : [{ function: { arguments: toolArguments } }];
  return {
    model,
    usage,
    choices: [{ message: { ...message, tool_calls: calls }, finish_reason: finishReason }],
  };
}
