import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { cleanDeep, NestedTooDeep } from '../core/text.js';
import { type RubricEntry, readEntry } from './entry.js';

export const RUBRIC_EXTENSIONS = ['.json', '.yaml', '.yml'] as const;

/** Reads a rubric file, JSON or YAML by its ending. Errors name the file. */
export async function readRubricFile(file: string): Promise<RubricEntry> {
  const text = decodeText(await bytesOf(file), file);
  const value =
    path.extname(file).toLowerCase() === '.json'
      ? readJson(text, file)
      : await readYaml(text, file);
  try {
    return readEntry(cleanDeep(value));
  } catch (error) {
    if (error instanceof NestedTooDeep) throw unreadable(file, `it ${error.message}`);
    if (!(error instanceof AgentEvalError)) throw error;
    throw new AgentEvalError(error.code, `${file}: ${error.message}`, error.details, {
      cause: error,
    });
  }
}

async function bytesOf(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? error.code : undefined;
    const message =
      why === 'ENOENT' ? 'there is no such file' : `it can't be read (${String(why)})`;
    throw unreadable(file, message);
  }
}

/** Text of UTF-8 bytes without a byte-order mark; anything else is refused by name. */
export function decodeText(bytes: Buffer, file: string): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    throw unreadable(file, 'it is UTF-16; save it as UTF-8');
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw unreadable(file, 'it is not UTF-8');
  }
}

function readJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unreadable(file, `it is not JSON (${reason(error)})`);
  }
}

async function readYaml(text: string, file: string): Promise<unknown> {
  const { parseYaml } = await import('./yaml.js');
  try {
    return parseYaml(text);
  } catch (error) {
    throw unreadable(file, `it is not YAML (${reason(error)})`);
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
}

function unreadable(file: string, message: string): AgentEvalError {
  return new AgentEvalError('validation_error', `The file ${file} is no use: ${message}.`, {
    issues: [{ path: file, message }],
  });
}
