import * as z from 'zod/mini';
import { wireTypes } from './wire-types.js';

export type JsonSchema = { [key: string]: unknown };

/** The largest integer that JSON numbers carry exactly: zod writes it as the bound of every integer. */
const SAFE = Number.MAX_SAFE_INTEGER;

/** Every wire type as JSON Schema 2020-12 under `$defs`. */
export function jsonSchemaBundle(
  uri: (id: string) => string = (id) => `#/$defs/${id}`,
): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(wireTypes, { io: 'input', uri, override: assertSayable });
  const entries = Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([id, schema]) => [id, cleanSchema(schema)]));
}

/** Refuses a rule that zod would drop on the way to JSON Schema. */
function assertSayable(context: { zodSchema: z.core.$ZodTypes; path: (string | number)[] }): void {
  const { def } = context.zodSchema._zod;
  const checks = 'checks' in def ? (def.checks ?? []) : [];
  const lost =
    checks.some(
      (check) => check._zod.def.check === 'custom' || check._zod.def.check === 'overwrite',
    ) ||
    def.type === 'transform' ||
    def.type === 'custom';
  if (lost) {
    const at = context.path.join('.');
    throw new Error(
      `JSON Schema cannot say the rule at "${at}": say it structurally or in rubric-rules.ts`,
    );
  }
}

function cleanSchema(value: unknown): JsonSchema {
  return clean(value) as JsonSchema;
}

function clean(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(clean);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, member]) => !isNoise(value, key, member))
      .map(([key, member]) => [key, clean(member)]),
  );
}

function isNoise(owner: object, key: string, member: unknown): boolean {
  if (key === '$schema' || key === '$id') return true;
  if (key === 'propertyNames') return true;
  // A count says where it begins and nobody reaches the end; any other integer is refused beyond either.
  return key === 'maximum' && member === SAFE && 'minimum' in owner && owner.minimum !== -SAFE;
}
