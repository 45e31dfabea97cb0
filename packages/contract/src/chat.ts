import * as z from 'zod/mini';
import { judgeByName } from './judge.js';
import { described, wireType } from './wire-types.js';

// OpenAI's names and shapes: who has a client for them needs no other.

const text = (description: string) => described(description, z.string());
const filled = (description: string) =>
  described(description, z.string().check(z.minLength(1, 'must not be empty')));
const json = (description: string) => described(description, z.record(z.string(), z.unknown()));

export const chatFunctionCall = wireType(
  'ChatFunctionCall',
  'A function that the model calls.',
  z.object({
    name: text('Name of the function.'),
    arguments: text('Its arguments, as the JSON text that the model wrote.'),
  }),
);

export const chatToolCall = wireType(
  'ChatToolCall',
  'A tool that the model calls.',
  z.object({
    id: text('Id that the answer of the tool refers to.'),
    type: described('Kind of tool.', z.literal('function')),
    function: chatFunctionCall,
  }),
);

export const chatTextPart = wireType(
  'ChatTextPart',
  'A part of a message that is text.',
  z.strictObject({ type: described('Kind of part.', z.literal('text')), text: text('The text.') }),
);

export const chatImagePart = wireType(
  'ChatImagePart',
  'A part of a message that is an image, for models that take them.',
  z.strictObject({
    type: described('Kind of part.', z.literal('image_url')),
    image_url: json('Where the image is: `url` (a data URL works too), and `detail`.'),
  }),
);

const parts = () => z.array(z.union([chatTextPart, chatImagePart])).check(z.minLength(1));
const content = () =>
  described('What is said, as a text or in parts.', z.union([z.string(), parts()]));
const name = () => described('Name of the speaker.', z.optional(z.string()));

export const chatSystemMessage = wireType(
  'ChatSystemMessage',
  'Instructions.',
  z.strictObject({
    role: described('Who speaks.', z.enum(['system', 'developer'])),
    content: content(),
    name: name(),
  }),
);

export const chatUserMessage = wireType(
  'ChatUserMessage',
  'What the user says.',
  z.strictObject({
    role: described('Who speaks.', z.literal('user')),
    content: content(),
    name: name(),
  }),
);

export const chatAssistantMessage = wireType(
  'ChatAssistantMessage',
  'What the model said earlier.',
  z.strictObject({
    role: described('Who speaks.', z.literal('assistant')),
    content: described(
      'What it said; null where it only called tools.',
      z.optional(z.nullable(z.union([z.string(), parts()]))),
    ),
    refusal: described('Why it declined.', z.optional(z.nullable(z.string()))),
    tool_calls: described('The tools it called.', z.optional(z.array(chatToolCall))),
    name: name(),
  }),
);

export const chatToolMessage = wireType(
  'ChatToolMessage',
  'What a tool answered.',
  z.strictObject({
    role: described('Who speaks.', z.literal('tool')),
    tool_call_id: filled('Id of the call that this answers.'),
    content: content(),
  }),
);

export const chatMessage = wireType(
  'ChatMessage',
  'One message of a conversation.',
  z.union([chatSystemMessage, chatUserMessage, chatAssistantMessage, chatToolMessage]),
);

export const chatTool = wireType(
  'ChatTool',
  'A tool that the model may call.',
  z.strictObject({
    type: described('Kind of tool.', z.literal('function')),
    function: json('The function: `name`, `description`, `parameters` as JSON Schema, `strict`.'),
  }),
);

const sampled = judgeByName.shape;
const limit = () => z.optional(z.int().check(z.minimum(1), z.maximum(1_000_000)));

export const chatRequest = wireType(
  'ChatRequest',
  'A turn of a conversation, in the shape of chat completions.',
  z.strictObject({
    messages: described('The conversation so far.', z.array(chatMessage).check(z.minLength(1))),
    model: sampled.model,
    tools: described('Tools that the model may call.', z.optional(z.array(chatTool))),
    tool_choice: described(
      '"none", "auto", "required", or the one function to call.',
      z.optional(
        z.union([z.enum(['none', 'auto', 'required']), z.record(z.string(), z.unknown())]),
      ),
    ),
    parallel_tool_calls: described(
      'Whether the model may call several tools at once.',
      z.optional(z.boolean()),
    ),
    response_format: described(
      'The form of the answer: `{"type": "json_object"}` or `{"type": "json_schema", …}`.',
      z.optional(z.record(z.string(), z.unknown())),
    ),
    temperature: described(
      'Sampling temperature.',
      z.optional(z.number().check(z.minimum(0), z.maximum(2))),
    ),
    top_p: described(
      'Share of the probability that is sampled from.',
      z.optional(z.number().check(z.minimum(0), z.maximum(1))),
    ),
    max_tokens: described('Limit on the tokens of the answer.', limit()),
    max_completion_tokens: described('The same, by its newer name.', limit()),
    stop: described(
      'Texts at which the answer ends.',
      z.optional(z.union([z.string(), z.array(z.string())])),
    ),
    seed: described('Sampling seed, for endpoints that take one.', z.optional(z.int())),
    n: described('One answer is given.', z.optional(z.literal(1))),
    stream: described('Answers are not streamed.', z.optional(z.literal(false))),
    timeoutMs: sampled.timeoutMs,
    provider: sampled.provider,
  }),
);

export const chatAnswerMessage = wireType(
  'ChatAnswerMessage',
  'What the model says.',
  z.object({
    role: described('Who speaks.', z.literal('assistant')),
    content: described('The text; null where there is none.', z.nullable(z.string())),
    refusal: described('Why the model declined, where it did.', z.nullable(z.string())),
    tool_calls: described('The tools it calls.', z.optional(z.array(chatToolCall))),
  }),
);

export const chatChoice = wireType(
  'ChatChoice',
  'An answer.',
  z.object({
    index: described('Place among the answers: 0.', z.int().check(z.minimum(0))),
    message: chatAnswerMessage,
    finish_reason: described(
      'Why it ended, such as "stop", "length" or "tool_calls".',
      z.nullable(z.string()),
    ),
  }),
);

export const chatUsage = wireType(
  'ChatUsage',
  'Tokens, by their names in chat completions.',
  z.object({
    prompt_tokens: described('Tokens sent.', z.int().check(z.minimum(0))),
    completion_tokens: described('Tokens received.', z.int().check(z.minimum(0))),
    total_tokens: described('Both.', z.int().check(z.minimum(0))),
  }),
);

export const chatResult = wireType(
  'ChatResult',
  'A turn of the model, in the shape of chat completions.',
  z.object({
    id: text('Id of the answer, as the provider gave it.'),
    object: described('Kind of object.', z.literal('chat.completion')),
    created: described('When, in Unix seconds.', z.int().check(z.minimum(0))),
    model: text('Model as reported by the provider.'),
    choices: described('The answer, in a list of one.', z.array(chatChoice)),
    usage: described('Tokens; null when the provider did not report them.', z.nullable(chatUsage)),
    costUsd: described(
      'Cost in US dollars; null when the price or the usage is unknown.',
      z.nullable(z.number().check(z.minimum(0))),
    ),
    attempts: described('Requests sent to the provider.', z.int().check(z.minimum(0))),
    droppedParams: described('Parameters the endpoint refused.', z.array(z.string())),
    durationMs: described('Duration of this call in milliseconds.', z.int().check(z.minimum(0))),
  }),
);

export type ChatRequest = z.output<typeof chatRequest>;
export type ChatResult = z.output<typeof chatResult>;
