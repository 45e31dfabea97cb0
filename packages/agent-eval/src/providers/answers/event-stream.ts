import { parseJson } from '../../core/json.js';
import { first, member, textOf } from './error-body.js';
import { array, stringOr } from './fields.js';

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
  const calls: ToolCall[] = [];
  let id: unknown;
  let created: unknown;
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
    id ??= member(event, 'id');
    created ??= member(event, 'created');
    model ??= member(event, 'model');
    usage = member(event, 'usage') ?? usage;
    const choice = first(member(event, 'choices'));
    // A gateway may also send one whole completion as its only event.
    const delta = member(choice, 'delta') ?? member(choice, 'message');
    for (const name of ['content', 'refusal', 'reasoning_content', 'reasoning']) {
      const piece = textOf(member(delta, name));
      if (piece !== '') message[name] = (message[name] ?? '') + piece;
    }
    addCalls(calls, member(delta, 'tool_calls'));
    finishReason = member(choice, 'finish_reason') ?? finishReason;
  }
  if (!done && finishReason === null) return undefined;
  const all = { ...message, tool_calls: calls.length === 0 ? undefined : calls };
  return {
    id,
    created,
    model,
    usage,
    choices: [{ message: all, finish_reason: finishReason }],
  };
}

interface ToolCall {
  index: unknown;
  id: string | null;
  function: { name: string | null; arguments: string };
}

/** Adds pieces of tool calls, each to the last call at its index; another id there begins another call. */
function addCalls(calls: ToolCall[], pieces: unknown): void {
  for (const [place, piece] of array(pieces).entries()) {
    const index = member(piece, 'index') ?? place;
    const id = stringOr(member(piece, 'id'), null);
    const called = member(piece, 'function');
    const known = calls.findLast((call) => call.index === index);
    const other = known === undefined || (known.id !== null && id !== null && known.id !== id);
    const call: ToolCall = other ? { index, id, function: { name: null, arguments: '' } } : known;
    if (other) calls.push(call);
    call.id ??= id;
    call.function.name ??= stringOr(member(called, 'name'), null);
    const given = member(called, 'arguments');
    const whole = typeof given === 'object' && given !== null;
    call.function.arguments += whole ? JSON.stringify(given) : textOf(given);
  }
}
