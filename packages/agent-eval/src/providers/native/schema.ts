import { parseJson } from '../../core/json.js';

/** A judge asks with few rubrics; beyond so many, remembering starts anew. */
const MAX_KNOWN = 256;

/**
 * Makes a function that leaves keywords out of schemas, for endpoints that refuse a schema that has them. Nothing
 * is lost: the prompt names every scale, and each verdict is checked here.
 */
export function schemaWithout(keywords: readonly string[]): (schema: string) => string {
  const known = new Map<string, string>();
  const dropped = new Set(keywords);
  return (schema) => {
    const found = known.get(schema);
    if (found !== undefined) return found;
    const plain = JSON.stringify(withoutKeywords(parseJson(schema), dropped));
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(schema, plain);
    return plain;
  };
}

/** Keywords are dropped, names of properties never are: a dimension may be called "minimum". */
function withoutKeywords(schema: unknown, dropped: ReadonlySet<string>): unknown {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema;
  const kept = Object.entries(schema)
    .filter(([keyword]) => !dropped.has(keyword))
    .map(([keyword, value]): [string, unknown] => [
      keyword,
      keyword === 'properties' ? eachProperty(value, dropped) : withoutKeywords(value, dropped),
    ]);
  return Object.fromEntries(kept);
}

function eachProperty(properties: unknown, dropped: ReadonlySet<string>): unknown {
  const entries = Object.entries(properties ?? {});
  return Object.fromEntries(
    entries.map(([name, value]) => [name, withoutKeywords(value, dropped)]),
  );
}
