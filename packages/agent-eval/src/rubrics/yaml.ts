import { parseDocument } from 'yaml';

/**
 * Reads one YAML document; what the library only warns about, such as an unknown tag, is an error here. A
 * module of its own, so that the library is loaded when a YAML file is first met.
 */
export function parseYaml(text: string): unknown {
  const document = parseDocument(text, { prettyErrors: true, logLevel: 'silent' });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) {
    throw problem.code === 'MULTIPLE_DOCS' ? new Error('it holds more than one document') : problem;
  }
  return document.toJS({ maxAliasCount: 100 });
}
