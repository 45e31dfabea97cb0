import {
  AgentEvalError,
  isMethodName,
  METHOD_NAMES,
  METHODS,
  type MethodName,
  parseParams,
  validationError,
} from '@tangle-network/agent-eval-contract';
import { cleanDeep, NestedTooDeep, nearNames } from '../core/text.js';
import { chat } from './chat.js';
import { compare } from './compare.js';
import type { ApiDeps, Call } from './deps.js';
import { judge } from './judge.js';

/** A stream of lines is a transport's matter: each line is a call of its own. */
type SingleMethod = Exclude<MethodName, 'judgeBatch'>;

type Handlers = {
  [N in SingleMethod]: (deps: ApiDeps, params: unknown, call: Call) => Promise<unknown>;
};

const HANDLERS: Handlers = {
  judge: (deps, params, call) => judge(deps, parseParams('judge', params), call),
  compare: (deps, params, call) => compare(deps, parseParams('compare', params), call),
  chat: (deps, params, call) => chat(deps, parseParams('chat', params), call),
  listRubrics: async (deps, params) => {
    parseParams('listRubrics', params);
    return { rubrics: await deps.rubrics.list() };
  },
  getRubric: (deps, params) => deps.rubrics.detail(parseParams('getRubric', params).name),
  version: async (deps, params) => {
    parseParams('version', params);
    return deps.version;
  },
};

/** Validates the parameters, runs the method, checks the result. The way in for every transport. */
export async function dispatch(
  deps: ApiDeps,
  method: string,
  params: unknown,
  call: Call,
): Promise<unknown> {
  if (!isMethodName(method) || !isSingle(method)) throw unknownMethod(method);
  const result = await HANDLERS[method](deps, cleanParams(params), call);
  const checked = METHODS[method].result.safeParse(result);
  if (!checked.success) {
    throw new AgentEvalError('internal_error', `The result of ${method} breaks its own schema.`, {
      issues: checked.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })),
    });
  }
  return result;
}

function isSingle(method: MethodName): method is SingleMethod {
  return Object.hasOwn(HANDLERS, method);
}

function cleanParams(params: unknown): unknown {
  try {
    return cleanDeep(params);
  } catch (error) {
    if (!(error instanceof NestedTooDeep)) throw error;
    throw validationError('Invalid parameters', [{ path: '', message: error.message }]);
  }
}

function unknownMethod(method: string): AgentEvalError {
  const near = nearNames(method, METHOD_NAMES);
  const hint =
    near.length > 0 ? `did you mean ${near.join(' or ')}?` : `known: ${METHOD_NAMES.join(', ')}`;
  return validationError('Unknown method', [
    { path: 'method', message: `no such method; ${hint}` },
  ]);
}

/** The body for any error; what is not ours becomes `internal_error` without its text. */
export function asAgentEvalError(error: unknown): AgentEvalError {
  if (error instanceof AgentEvalError) return error;
  return new AgentEvalError(
    'internal_error',
    'The engine failed in an unexpected way: please report it; --debug shows where.',
    {},
    { cause: error },
  );
}
