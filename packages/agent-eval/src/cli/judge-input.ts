import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import type { RubricCatalog } from '../rubrics/catalog.js';
import { decodeText, RUBRIC_EXTENSIONS, readRubricFile } from '../rubrics/file.js';

/** The text to judge, from a file or from stdin. */
export async function readContent(file: string | undefined): Promise<string> {
  if (file !== undefined && file !== '-') return readText(file);
  if (process.stdin.isTTY === true) {
    throw usage('Name a file to judge, or pipe the text in: agent-eval judge --rubric NAME FILE.');
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return decodeText(Buffer.concat(chunks), 'stdin');
}

/** Name of the rubric to judge by; where the value looks like a path, the file's rubric is made known first. */
export async function rubricName(value: string, rubrics: RubricCatalog): Promise<string> {
  const endings: readonly string[] = RUBRIC_EXTENSIONS;
  const isFile = value.includes(path.sep) || endings.includes(path.extname(value).toLowerCase());
  if (!isFile) return value;
  const entry = await readRubricFile(value);
  rubrics.add(entry);
  return entry.rubric.name;
}

/** Each use of the flag takes one value, or it would swallow the file that follows. */
export function collect(value: string, previous: string[] | undefined): string[] {
  return [...(previous ?? []), value];
}

/** The context of `--context-file`, with the pairs of `--context` on top. */
export async function readContext(
  pairs: readonly string[] | undefined,
  file: string | undefined,
): Promise<{ context?: Record<string, unknown> }> {
  if (pairs === undefined && file === undefined) return {};
  const fromFile = file === undefined ? {} : await readObject(file);
  const fromPairs = (pairs ?? []).map((pair) => {
    const at = pair.indexOf('=');
    if (at < 1) throw usage(`--context takes key=value, not "${pair}".`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return { context: { ...fromFile, ...Object.fromEntries(fromPairs) } };
}

async function readObject(file: string): Promise<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(await readText(file));
  } catch (error) {
    if (error instanceof AgentEvalError) throw error;
    throw usage(`${file} is not JSON.`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw usage(`${file} must hold a JSON object.`);
}

async function readText(file: string): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw usage(`${file} can't be read (${code}).`);
  }
  return decodeText(bytes, file);
}

function usage(message: string): AgentEvalError {
  return new AgentEvalError('validation_error', message);
}
