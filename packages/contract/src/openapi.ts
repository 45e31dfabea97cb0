import type * as z from 'zod/mini';
import { ERRORS } from './errors.js';
import { type JsonSchema, jsonSchemaBundle } from './json-schema.js';
import { METHODS, type MethodRow } from './methods.js';
import { health, PACKAGE_NAME, WIRE_VERSION } from './service.js';
import { wireTypes } from './wire-types.js';

const componentRef = (id: string): string => `#/components/schemas/${id}`;

/** The HTTP API as an OpenAPI 3.1 document. */
export function openApiDocument(): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const [name, method] of Object.entries(METHODS)) {
    paths[method.path] = {
      ...paths[method.path],
      [method.http.toLowerCase()]: operation(name, method),
    };
  }
  paths['/healthz'] = { get: healthOperation() };
  return {
    openapi: '3.1.0',
    info: {
      title: PACKAGE_NAME,
      version: WIRE_VERSION,
      description: 'Judge texts by rubrics. Version 1 of the wire.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    paths,
    components: {
      schemas: jsonSchemaBundle(componentRef),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function operation(name: string, method: MethodRow): JsonSchema {
  const pathNames = [...method.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
  const parameters = pathNames.map((parameter) => ({
    name: parameter,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
  }));
  return {
    operationId: name,
    summary: method.summary,
    ...(method.auth ? { security: [{}, { bearer: [] }] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(method.http === 'POST'
      ? { requestBody: { required: true, content: content(typeId(method.params), method.lines) } }
      : {}),
    responses: {
      200: { description: 'Answered.', content: content(typeId(method.result), method.lines) },
      ...errorResponses(),
    },
  };
}

function healthOperation(): JsonSchema {
  return {
    operationId: 'health',
    summary: 'Tell that the server answers.',
    responses: { 200: response('The server answers.', typeId(health)), ...errorResponses() },
  };
}

function errorResponses(): Record<string, JsonSchema> {
  const byStatus = new Map<number, string[]>();
  for (const [code, row] of Object.entries(ERRORS)) {
    if (row.http === null) continue;
    byStatus.set(row.http, [...(byStatus.get(row.http) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      String(status),
      response(codes.join(', '), 'ErrorEnvelope'),
    ]),
  );
}

const response = (description: string, id: string): JsonSchema => ({
  description,
  content: content(id),
});

/** A body of that type; in a stream of lines, the type of each line. */
const content = (id: string, lines = false): JsonSchema => ({
  [lines ? 'application/x-ndjson' : 'application/json']: { schema: { $ref: componentRef(id) } },
});

function typeId(schema: z.core.$ZodType): string {
  const id = wireTypes.get(schema)?.id;
  if (id === undefined) throw new Error('A method uses a type that has no name on the wire');
  return id;
}
