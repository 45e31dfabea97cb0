import { parseJson } from '../../core/json.js';
import { errorFields, member, textOf } from '../answers/error-body.js';
import { joinEventStream } from '../answers/event-stream.js';
import { array, record } from '../answers/fields.js';
import { readAnswer, readChat } from '../completion.js';
import { type Dialect, OPENAI_CHAT } from '../dialect.js';
import { requestBody } from '../ladder/chat-body.js';
import { schemaWithout } from './schema.js';

/** Chat completions at Azure: a header of its own for the key, and in the older form the deployment in the path. */
export const AZURE: Dialect = {
  ...OPENAI_CHAT,
  operation: (basePath) =>
    basePath.endsWith('/openai') ? '/deployments/{model}/chat/completions' : '/chat/completions',
  headers: (apiKey): Record<string, string> => (apiKey === null ? {} : { 'api-key': apiKey }),
};

const withoutListLimits = schemaWithout(['maxItems']);

/** Chat completions where schemas may not limit the length of a list. */
const PLAIN_LISTS: Dialect = {
  ...OPENAI_CHAT,
  body: ({ schema, ...request }, shape) =>
    requestBody({ ...request, schema: { ...schema, json: withoutListLimits(schema.json) } }, shape),
};

export const CEREBRAS = PLAIN_LISTS;

export const XAI: Dialect = {
  ...PLAIN_LISTS,
  error(status, body) {
    // A filter and a used-up account look like a key that is refused.
    const { message } = errorFields(body);
    if (status === 403 && /usage guidelines|safety_check/i.test(message)) {
      return filtered(message, [/SAFETY_CHECK_TYPE_\w+/.exec(message)?.[0] ?? 'usage guidelines']);
    }
    return { status, body };
  },
};

export const OPENROUTER: Dialect = {
  ...OPENAI_CHAT,
  read: (answer) =>
    readAnswer(
      answer,
      (root) => ({ ...readChat(root), costUsd: reportedCost(record(root.usage)) }),
      joinEventStream,
    ),
  error(status, body) {
    const root = record(parseJson(body));
    const metadata = member(root.error, 'metadata');
    const { message } = errorFields(body);
    const reasons = array(member(metadata, 'reasons')).map(textOf);
    if (status === 403 && reasons.length > 0) return filtered(message, reasons);
    // What the provider behind it said is the reason; its own message only says that there was one.
    const raw = textOf(member(metadata, 'raw')).slice(0, 2000);
    if (raw === '') return { status, body };
    const error = { ...record(root.error), message: `${message}: ${raw}` };
    return { status, body: JSON.stringify({ ...root, error }) };
  },
};

function filtered(message: string, reasons: readonly string[]): { status: number; body: string } {
  const result = Object.fromEntries(reasons.map((reason) => [reason, { filtered: true }]));
  const error = { code: 'content_filter', message, content_filter_result: result };
  return { status: 400, body: JSON.stringify({ error }) };
}

/** What it charged, in US dollars; with the user's own key at a provider that provider charges as well. */
function reportedCost(usage: Record<string, unknown>): number | null {
  const fee = dollars(usage.cost);
  if (fee === null || usage.is_byok !== true) return fee;
  const upstream = dollars(record(usage.cost_details).upstream_inference_cost);
  return upstream === null ? null : fee + upstream;
}

function dollars(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}
