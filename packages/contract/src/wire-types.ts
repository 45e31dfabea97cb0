import * as z from 'zod';

/** Every schema that has a name on the wire. JSON Schema, OpenAPI and the Python models are made from it. */
export const wireTypes = z.registry<{ id: string }>();

/** Registers `schema` under `id` and hands it back. */
export function wireType<T extends z.ZodType>(id: string, description: string, schema: T): T {
  const described = schema.describe(description);
  wireTypes.add(described, { id });
  return described;
}
