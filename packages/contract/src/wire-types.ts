import * as z from 'zod/mini';
import en from 'zod/v4/locales/en.js';

// Without a locale every message would be "Invalid input".
z.config(en());

/** Every schema that has a name on the wire. JSON Schema, OpenAPI and the Python models are made from it. */
export const wireTypes = z.registry<{ id: string }>();

/** Registers `schema` under `id` and hands it back. */
export function wireType<T extends z.core.$ZodType>(id: string, description: string, schema: T): T {
  wireTypes.add(schema, { id });
  return described(description, schema);
}

/** Gives a field its one description, which flows to JSON Schema, OpenAPI and Python. */
export function described<T extends z.core.$ZodType>(description: string, schema: T): T {
  z.globalRegistry.add(schema, { description });
  return schema;
}
