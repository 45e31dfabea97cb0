import * as z from 'zod/mini';
import { type CompareRequest, compareByName, compareByRubric } from './compare.js';
import { validationError } from './errors.js';
import { type Issue, issuePath } from './issues.js';
import { type JudgeRequest, judgeByName, judgeByRubric } from './judge.js';
import { METHODS, type MethodName } from './methods.js';
import { panelIssues, seedIssues } from './panel-rules.js';
import { type Rubric, rubric } from './rubric.js';
import { rubricIssues } from './rubric-rules.js';

/** Checks the parameters of a method and fills in defaults. Throws `validation_error` with every issue. */
export function parseParams<N extends MethodName>(
  method: N,
  params: unknown,
): z.output<(typeof METHODS)[N]['params']> {
  type Params = z.output<(typeof METHODS)[N]['params']>;
  if (method === 'judge') return parseJudgeRequest(params) as Params;
  if (method === 'compare') return parseCompareRequest(params) as Params;
  const parsed = parseWith(METHODS[method].params, params, `Invalid parameters of ${method}`);
  return parsed as Params;
}

export function parseJudgeRequest(params: unknown): JudgeRequest {
  const what = 'Invalid judge request';
  const request = parseByRubric(judgeByName, judgeByRubric, params, what);
  const issues = [...panelIssues(request), ...seedIssues(request), ...inlineIssues(request)];
  if (issues.length > 0) throw validationError(what, issues);
  return request;
}

export function parseCompareRequest(params: unknown): CompareRequest {
  const what = 'Invalid compare request';
  const request = parseByRubric(compareByName, compareByRubric, params, what);
  const issues = [...seedIssues(request), ...inlineIssues(request)];
  if (issues.length > 0) throw validationError(what, issues);
  return request;
}

/** Picks the branch of a request by the key that is there, so that every issue has a plain path. */
function parseByRubric<A extends z.core.$ZodType, B extends z.core.$ZodType>(
  byName: A,
  byRubric: B,
  params: unknown,
  what: string,
): z.output<A> | z.output<B> {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) {
    throw validationError(what, [{ path: '', message: 'must be a JSON object' }]);
  }
  const named = 'rubricName' in params;
  const inline = 'rubric' in params;
  if (named === inline) {
    const message = named
      ? 'give either rubricName or rubric, not both'
      : 'give rubricName (a rubric of the engine) or rubric (your own)';
    throw validationError(what, [{ path: '', message }]);
  }
  return named ? parseWith(byName, params, what) : parseWith(byRubric, params, what);
}

function inlineIssues(request: { rubricName: string } | { rubric: Rubric }): Issue[] {
  return 'rubric' in request ? rubricIssues(request.rubric, 'rubric') : [];
}

/** Checks a rubric on its own. */
export function parseRubric(value: unknown): Rubric {
  const parsed = parseWith(rubric, value, 'Invalid rubric');
  const issues = rubricIssues(parsed);
  if (issues.length > 0) throw validationError('Invalid rubric', issues);
  return parsed;
}

function parseWith<T extends z.core.$ZodType>(
  schema: T,
  value: unknown,
  what: string,
): z.output<T> {
  const parsed = z.safeParse(schema, value);
  if (parsed.success) return parsed.data;
  throw validationError(what, parsed.error.issues.flatMap(plainIssues));
}

function plainIssues(issue: z.core.$ZodIssue): Issue[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: issuePath([...issue.path, key]),
      message: 'is not a known field',
    }));
  }
  return [{ path: issuePath(issue.path), message: issue.message }];
}
