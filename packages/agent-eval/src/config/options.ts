import { DIALECTS } from '../core/dialect-name.js';

/** One setting of the engine: said once here, used by parsers, help texts, `config` and the docs. */
export interface OptionRow {
  /** Name in `Settings`. */
  key: string;
  /** Long flag with its value name, or null where only the environment sets it. */
  flag: string | null;
  /** Environment variables, the first that is set counts. */
  env: readonly string[];
  type: 'string' | 'integer' | 'boolean' | 'list';
  /** Value when nothing sets it; null means "not set". */
  fallback: string | number | boolean | null;
  /** Smallest and largest value of an integer. */
  range?: readonly [number, number];
  /** The only values of a string. */
  choices?: readonly string[];
  secret?: true;
  /** Commands that take the flag. */
  commands: readonly string[];
  help: string;
}

const JUDGING = ['judge', 'compare', 'rpc', 'rpc-batch', 'serve', 'doctor', 'config'] as const;
const RUBRICS = [...JUDGING, 'rubrics'] as const;
const CACHE = [...JUDGING, 'cache'] as const;
const MODELS = [...JUDGING, 'model'] as const;

export const OPTIONS = {
  baseUrl: {
    flag: '--base-url <url>',
    env: ['AGENT_EVAL_LLM_BASE_URL'],
    type: 'string',
    fallback: null,
    commands: JUDGING,
    help: 'OpenAI-compatible endpoint to ask; a missing /v1 is added',
  },
  apiKey: {
    flag: null,
    env: ['AGENT_EVAL_LLM_API_KEY'],
    type: 'string',
    fallback: null,
    secret: true,
    commands: [],
    help: 'key for that endpoint, and for no other',
  },
  model: {
    flag: '--model <name>',
    env: ['AGENT_EVAL_LLM_MODEL', 'OPENAI_MODEL'],
    type: 'string',
    fallback: null,
    commands: JUDGING,
    help: 'model to ask; local/NAME or local/PATH.gguf runs on this machine',
  },
  dialect: {
    flag: '--dialect <name>',
    env: ['AGENT_EVAL_LLM_DIALECT'],
    type: 'string',
    choices: DIALECTS,
    fallback: null,
    commands: JUDGING,
    help: 'what is spoken at the base URL; default: openai-chat',
  },
  timeoutMs: {
    flag: '--timeout-ms <ms>',
    env: ['AGENT_EVAL_TIMEOUT_MS'],
    type: 'integer',
    fallback: 180_000,
    range: [1, 86_400_000],
    commands: JUDGING,
    help: 'deadline of one judgement, retries included',
  },
  attempts: {
    flag: '--attempts <n>',
    env: ['AGENT_EVAL_ATTEMPTS'],
    type: 'integer',
    fallback: 4,
    range: [1, 20],
    commands: JUDGING,
    help: 'requests for one judgement at most, the first included',
  },
  attemptTimeoutMs: {
    flag: '--attempt-timeout-ms <ms>',
    env: ['AGENT_EVAL_ATTEMPT_TIMEOUT_MS'],
    type: 'integer',
    fallback: 0,
    range: [0, 86_400_000],
    commands: JUDGING,
    help: 'longest a single request may take before it is sent again; 0 leaves it to the deadline',
  },
  concurrency: {
    flag: '--concurrency <n>',
    env: ['AGENT_EVAL_CONCURRENCY'],
    type: 'integer',
    fallback: 64,
    range: [1, 1024],
    commands: JUDGING,
    help: 'requests in flight to one endpoint',
  },
  queueLimit: {
    flag: '--queue-limit <n>',
    env: ['AGENT_EVAL_QUEUE_LIMIT'],
    type: 'integer',
    fallback: 10_000,
    range: [0, 1_000_000],
    commands: JUDGING,
    help: 'requests that may wait for one endpoint; more are answered with overloaded',
  },
  allowUncalibrated: {
    flag: '--allow-uncalibrated',
    env: ['AGENT_EVAL_ALLOW_UNCALIBRATED'],
    type: 'boolean',
    fallback: false,
    commands: JUDGING,
    help: 'let a local model judge by a rubric without checks (one broad question a dimension)',
  },
  allowCutPrompt: {
    flag: '--allow-cut-prompt',
    env: ['AGENT_EVAL_ALLOW_CUT_PROMPT'],
    type: 'boolean',
    fallback: false,
    commands: JUDGING,
    help: 'take a score, with a warning, when the endpoint read under half of the prompt',
  },
  allowInsecureHttp: {
    flag: '--allow-insecure-http',
    env: ['AGENT_EVAL_ALLOW_INSECURE_HTTP'],
    type: 'boolean',
    fallback: false,
    commands: JUDGING,
    help: 'let a key go over plain http to another machine',
  },
  rubricsDir: {
    flag: '--rubrics <dir>',
    env: ['AGENT_EVAL_RUBRICS'],
    type: 'string',
    fallback: null,
    commands: RUBRICS,
    help: 'folder of rubric files (JSON or YAML) to know by name',
  },
  cache: {
    flag: '--cache <file>',
    env: ['AGENT_EVAL_CACHE'],
    type: 'string',
    fallback: null,
    commands: CACHE,
    help: 'SQLite file that remembers verdicts; made when it is missing, shared by processes',
  },
  prices: {
    flag: '--prices <file>',
    env: ['AGENT_EVAL_PRICES'],
    type: 'string',
    fallback: null,
    commands: JUDGING,
    help: 'JSON file with prices of models, before those that the engine knows',
  },
  cacheMaxMb: {
    flag: '--cache-max-mb <mb>',
    env: ['AGENT_EVAL_CACHE_MAX_MB'],
    type: 'integer',
    fallback: 1024,
    range: [1, 1_000_000],
    commands: JUDGING,
    help: 'size of the cache beyond which its oldest verdicts go',
  },
  cacheMaxDays: {
    flag: '--cache-max-days <days>',
    env: ['AGENT_EVAL_CACHE_MAX_DAYS'],
    type: 'integer',
    fallback: 0,
    range: [0, 36_500],
    commands: JUDGING,
    help: 'age at which a remembered verdict no longer counts; 0 keeps all',
  },
  otel: {
    flag: null,
    env: ['AGENT_EVAL_OTEL'],
    type: 'boolean',
    fallback: false,
    commands: JUDGING,
    help: 'send OpenTelemetry spans over OTLP/HTTP; on by itself where OTEL_EXPORTER_OTLP_ENDPOINT is set',
  },
  otelContent: {
    flag: null,
    env: ['AGENT_EVAL_OTEL_CONTENT'],
    type: 'boolean',
    fallback: false,
    commands: JUDGING,
    help: 'put the rationale, which may quote what was judged, into those spans',
  },
  home: {
    flag: null,
    env: ['AGENT_EVAL_HOME'],
    type: 'string',
    fallback: null,
    commands: MODELS,
    help: 'folder for fetched models and their runtime; default: agent-eval in the user cache folder',
  },
  localThreads: {
    flag: '--local-threads <n>',
    env: ['AGENT_EVAL_LOCAL_THREADS'],
    type: 'integer',
    fallback: 0,
    range: [0, 256],
    commands: JUDGING,
    help: 'threads of a local model; 0 takes every core, fewer are faster where other programs are busy',
  },
  host: {
    flag: '--host <address>',
    env: ['AGENT_EVAL_HOST'],
    type: 'string',
    fallback: '127.0.0.1',
    commands: ['serve'],
    help: 'address to listen on; outside loopback a token is needed',
  },
  port: {
    flag: '--port <n>',
    env: ['AGENT_EVAL_PORT'],
    type: 'integer',
    fallback: 5005,
    range: [0, 65_535],
    commands: ['serve'],
    help: 'port to listen on; 0 picks a free one',
  },
  token: {
    flag: '--token <token>',
    env: ['AGENT_EVAL_TOKEN'],
    type: 'string',
    fallback: null,
    secret: true,
    commands: ['serve'],
    help: 'bearer token that callers must send; others on this machine can see flags, so prefer the variable',
  },
  tokenFile: {
    flag: '--token-file <file>',
    env: ['AGENT_EVAL_TOKEN_FILE'],
    type: 'string',
    fallback: null,
    commands: ['serve'],
    help: 'file that holds the bearer token',
  },
  allowedHosts: {
    flag: '--allowed-host <names>',
    env: ['AGENT_EVAL_ALLOWED_HOSTS'],
    type: 'list',
    fallback: null,
    commands: ['serve'],
    help: 'further names in the Host header to answer to, comma-separated',
  },
  allowRequestProvider: {
    flag: '--allow-request-provider',
    env: ['AGENT_EVAL_ALLOW_REQUEST_PROVIDER'],
    type: 'boolean',
    fallback: false,
    commands: ['serve'],
    help: 'take a model endpoint and key from the request',
  },
  bodyLimitBytes: {
    flag: '--body-limit <bytes>',
    env: ['AGENT_EVAL_BODY_LIMIT'],
    type: 'integer',
    fallback: 4_194_304,
    range: [1024, 268_435_456],
    commands: ['serve'],
    help: 'largest request body',
  },
  drainMs: {
    flag: '--drain-ms <ms>',
    env: ['AGENT_EVAL_DRAIN_MS'],
    type: 'integer',
    fallback: 10_000,
    range: [0, 600_000],
    commands: ['serve'],
    help: 'how long requests in flight may go on after SIGTERM',
  },
  logLevel: {
    flag: '--log-level <level>',
    env: ['AGENT_EVAL_LOG_LEVEL'],
    type: 'string',
    choices: ['error', 'warn', 'info', 'debug'],
    fallback: 'warn',
    commands: ['serve'],
    help: 'what to log on stderr: info has a line for each request, debug one for each judgement and model call too',
  },
  logFormat: {
    flag: '--log-format <format>',
    env: ['AGENT_EVAL_LOG_FORMAT'],
    type: 'string',
    choices: ['text', 'json'],
    fallback: 'text',
    commands: ['serve'],
    help: 'how a line of the log looks',
  },
  debug: {
    flag: '--debug',
    env: ['AGENT_EVAL_DEBUG'],
    type: 'boolean',
    fallback: false,
    commands: [...RUBRICS, 'model', 'openapi'],
    help: 'show stack traces on stderr',
  },
} as const satisfies Record<string, Omit<OptionRow, 'key'>>;

export type OptionKey = keyof typeof OPTIONS;

export const OPTION_ROWS: readonly OptionRow[] = Object.entries(OPTIONS).map(([key, row]) => ({
  key,
  ...row,
}));

/** Rows whose flag the command takes. */
export function optionsOf(command: string): OptionRow[] {
  return OPTION_ROWS.filter((row) => row.flag !== null && row.commands.includes(command));
}
