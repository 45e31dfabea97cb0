import type * as z from 'zod/mini';
import { batchLine, batchOutcome } from './batch.js';
import { chatRequest, chatResult } from './chat.js';
import { compareRequest, compareResult } from './compare.js';
import { judgeRequest, judgeResult } from './judge.js';
import {
  emptyRequest,
  getRubricRequest,
  rubricDetail,
  rubricList,
  versionInfo,
} from './service.js';

/** One method of the API: its HTTP route, its stdio name, its types. */
export interface MethodRow {
  http: 'GET' | 'POST';
  /** Path with `{name}` for each parameter taken from it. */
  path: string;
  params: z.core.$ZodType;
  result: z.core.$ZodType;
  /** Whether a bearer token is needed where the server has one. */
  auth: boolean;
  stdio: boolean;
  /** Many of `params` in and of `result` out, one a line, as they come. */
  lines?: true;
  summary: string;
}

export const METHODS = {
  judge: {
    http: 'POST',
    path: '/v1/judge',
    params: judgeRequest,
    result: judgeResult,
    auth: true,
    stdio: true,
    summary: 'Judge a text by a rubric.',
  },
  judgeBatch: {
    http: 'POST',
    path: '/v1/judge/batch',
    params: batchLine,
    result: batchOutcome,
    auth: true,
    stdio: false,
    lines: true,
    summary: 'Judge many texts: one JSON object a line in, one outcome a line out, in any order.',
  },
  compare: {
    http: 'POST',
    path: '/v1/compare',
    params: compareRequest,
    result: compareResult,
    auth: true,
    stdio: true,
    summary: 'Tell which of two texts is better by a rubric, asked in both orders.',
  },
  chat: {
    http: 'POST',
    path: '/v1/chat/completions',
    params: chatRequest,
    result: chatResult,
    auth: true,
    stdio: true,
    summary: 'Take a turn of a conversation, tools included, with the providers of the engine.',
  },
  listRubrics: {
    http: 'GET',
    path: '/v1/rubrics',
    params: emptyRequest,
    result: rubricList,
    auth: true,
    stdio: true,
    summary: 'List the rubrics the engine knows by name.',
  },
  getRubric: {
    http: 'GET',
    path: '/v1/rubrics/{name}',
    params: getRubricRequest,
    result: rubricDetail,
    auth: true,
    stdio: true,
    summary: 'Show one rubric.',
  },
  version: {
    http: 'GET',
    path: '/v1/version',
    params: emptyRequest,
    result: versionInfo,
    auth: false,
    stdio: true,
    summary: 'Tell what is running.',
  },
} as const satisfies Record<string, MethodRow>;

export type MethodName = keyof typeof METHODS;

export const METHOD_NAMES = Object.keys(METHODS) as MethodName[];

export function isMethodName(name: string): name is MethodName {
  return Object.hasOwn(METHODS, name);
}
