import { describe, expect, it } from 'vitest';
import chatCases from '../../../tests/vectors/chat-validation.json' with { type: 'json' };
import compareCases from '../../../tests/vectors/compare-validation.json' with { type: 'json' };
import requestCases from '../../../tests/vectors/request-validation.json' with { type: 'json' };
import ruleCases from '../../../tests/vectors/rubric-rules.json' with { type: 'json' };
import { AgentEvalError } from './errors.js';
import { jsonSchemaBundle } from './json-schema.js';
import { parseParams, parseRubric } from './validate.js';

interface Case {
  name: string;
  ok: boolean;
  paths?: string[];
}

function check(example: Case, parse: () => unknown): void {
  if (example.ok) {
    expect(parse).not.toThrow();
    return;
  }
  let caught: unknown;
  try {
    parse();
  } catch (error) {
    caught = error;
  }
  expect(caught).toBeInstanceOf(AgentEvalError);
  const { code, details } = caught as AgentEvalError;
  expect(code).toBe('validation_error');
  const paths = (details.issues as { path: string }[]).map(({ path }) => path);
  for (const path of example.paths ?? []) expect(paths).toContain(path);
}

describe('shared cases', () => {
  it.each(requestCases as (Case & { params: unknown })[])('judge request: $name', (example) => {
    check(example, () => parseParams('judge', example.params));
  });

  it.each(compareCases as (Case & { params: unknown })[])('compare request: $name', (example) => {
    check(example, () => parseParams('compare', example.params));
  });

  it.each(chatCases as (Case & { params: unknown })[])('chat request: $name', (example) => {
    check(example, () => parseParams('chat', example.params));
  });

  it.each(ruleCases as (Case & { value: unknown })[])('rubric: $name', (example) => {
    check(example, () => parseRubric(example.value));
  });
});

describe('the schema bundle', () => {
  const bundle = jsonSchemaBundle();

  it('refuses unknown keys in requests and lets responses grow', () => {
    expect(bundle.JudgeByName).toHaveProperty('additionalProperties', false);
    expect(bundle.JudgeResult).not.toHaveProperty('additionalProperties');
  });

  it('describes every field', () => {
    for (const [id, schema] of Object.entries(bundle)) {
      for (const [field, property] of Object.entries(schema.properties ?? {})) {
        expect(property, `${id}.${field}`).toSatisfy(
          (value: object) => 'description' in value || '$ref' in value || 'const' in value,
        );
      }
    }
  });
});
