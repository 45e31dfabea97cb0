import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** One answer of the fake endpoint; `model_server.py` says what each key does. */
export interface Step {
  match?: { bodyContains?: string; path?: string; model?: string; method?: string };
  times?: number | 'forever';
  status?: number;
  headers?: [name: string, value: string | null][];
  reply?: {
    verdict?: unknown;
    content?: unknown;
    message?: Record<string, unknown>;
    json?: unknown;
    raw?: string;
    base64?: string;
    encoding?: 'gzip' | 'br' | 'zstd' | 'deflate';
    encodingHeader?: string | null;
    keep?: number;
  };
  usage?: Record<string, unknown> | null | 'absent';
  finishReason?: string;
  mode?: 'fixed' | 'hash';
  together?: number;
  delayMs?: number;
  headersThenDelayMs?: number;
  chunks?: { count?: number; delayMs?: number };
  drop?: 'before-headers' | 'after-headers' | 'mid-body' | 'rst';
}

export interface RecordedRequest {
  method: string;
  path: string;
  headers: [name: string, value: string][];
  body: unknown;
  /** Seconds since the fake started. */
  time: number;
  outcome: 'pending' | 'answered' | 'dropped' | 'client-gone';
}

export interface Recorded {
  calls: number;
  connections: number;
  open: number;
  requests: RecordedRequest[];
}

export interface ModelServer {
  /** Base URL, with its `/v1`. */
  url: string;
  origin: string;
  script(steps: Step[], fallback?: Step): Promise<void>;
  stats(): Promise<Recorded>;
  requests(): Promise<RecordedRequest[]>;
  reset(): Promise<void>;
  close(): Promise<void>;
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

const program = fileURLToPath(new URL('./model_server.py', import.meta.url));

/** Starts the fake endpoint as a process; it ends with `close`, or when this process does. */
export async function startModelServer(): Promise<ModelServer> {
  const python = process.env.PYTHON ?? 'python3';
  const child: Child = spawn(python, [program, '--until-eof'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const { url, control } = await firstLine(child);
  const call = async (action: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${control}/${action}`, {
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${action}: ${JSON.stringify(answer)}`);
    return answer;
  };
  const stats = async () => (await call('requests')) as Recorded;
  return {
    url,
    origin: new URL(url).origin,
    stats,
    requests: async () => (await stats()).requests,
    async script(steps, fallback) {
      await call('script', { steps, ...(fallback !== undefined && { default: fallback }) });
    },
    async reset() {
      await call('reset', {});
    },
    async close() {
      const ended = child.exitCode ?? once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
}

async function firstLine(child: Child): Promise<{ url: string; control: string }> {
  const lines = createInterface({ input: child.stdout });
  const started = new Promise<string>((resolve, reject) => {
    lines.once('line', resolve);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the fake endpoint ended with ${code}`)));
  });
  return JSON.parse(await started);
}
