import { parse } from 'yaml';

/** Reads YAML. A module of its own, so that the library is loaded when a YAML file is first met. */
export function parseYaml(text: string): unknown {
  return parse(text, { maxAliasCount: 100, prettyErrors: true });
}
