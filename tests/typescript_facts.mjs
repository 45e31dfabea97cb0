// Reads paths on stdin, one a line, and prints what the tests of limits and layers need to know about them:
// {"<path>": {"functions": [{name, line, lines, parameters, text}], "globals": [{kind, line}], "exports": [name]}}
import { readFileSync } from 'node:fs';
import ts from 'typescript';

const TIMERS = ['setTimeout', 'setInterval', 'setImmediate'];
const TIMER_MODULES = /^(node:)?timers(\/promises)?$/;
const RANDOM = ['randomUUID', 'randomBytes', 'randomInt', 'randomFillSync', 'getRandomValues'];
const PROCESS = { exit: 'exit', exitCode: 'exit', stdin: 'stdin', stdout: 'stdout', env: 'env' };
const MEMBERS = {
  'Math.random': 'random',
  'Date.now': 'clock',
  'performance.now': 'clock',
  'AbortSignal.timeout': 'timer',
};

function memberKind(owner, name) {
  if (owner === 'process' || owner === 'globalThis.process') return PROCESS[name];
  if (owner === 'globalThis' && TIMERS.includes(name)) return 'timer';
  if (RANDOM.includes(name)) return 'random';
  return MEMBERS[`${owner}.${name}`];
}

function importKind(node) {
  const from = node.moduleSpecifier.text;
  if (TIMER_MODULES.test(from)) return 'timer';
  if (/^(node:)?process$/.test(from)) return 'env';
  const names = node.importClause?.namedBindings?.elements ?? [];
  const random =
    /^(node:)?crypto$/.test(from) && names.some(({ name }) => RANDOM.includes(name.text));
  return random ? 'random' : undefined;
}

/** What a node reaches beyond its module: a timer, chance, the clock, or the process itself. */
function globalKind(node, source) {
  if (ts.isImportDeclaration(node)) return importKind(node);
  if (ts.isPropertyAccessExpression(node)) {
    return memberKind(node.expression.getText(source), node.name.text);
  }
  if (ts.isElementAccessExpression(node) && ts.isStringLiteral(node.argumentExpression)) {
    return memberKind(node.expression.getText(source), node.argumentExpression.text);
  }
  if (ts.isVariableDeclaration(node) && ts.isObjectBindingPattern(node.name)) {
    const owner = node.initializer?.getText(source);
    const names = node.name.elements.map((part) =>
      (part.propertyName ?? part.name).getText(source),
    );
    return names.map((name) => memberKind(owner, name)).find((kind) => kind !== undefined);
  }
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) return callKind(node, source);
  return undefined;
}

function callKind(node, source) {
  const called = node.expression.getText(source);
  if (TIMERS.includes(called)) return 'timer';
  if (called === 'Date' && ts.isNewExpression(node) && !node.arguments?.length) return 'clock';
  return undefined;
}

function functionName(node, source) {
  const named = node.name ?? node.parent?.name;
  if (named !== undefined) return named.getText(source);
  return ts.isConstructorDeclaration(node) ? 'constructor' : '(anonymous)';
}

function factsOf(file) {
  const source = ts.createSourceFile(
    file,
    readFileSync(file, 'utf8'),
    ts.ScriptTarget.Latest,
    true,
  );
  const lineOf = (position) => source.getLineAndCharacterOfPosition(position).line + 1;
  const facts = { functions: [], globals: [], exports: [] };
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body !== undefined) {
      const line = lineOf(node.getStart(source));
      const lines = lineOf(node.getEnd()) - line + 1;
      const name = functionName(node, source);
      const text = node.body.getText(source).replace(/\s+/g, ' ');
      facts.functions.push({ name, line, lines, parameters: node.parameters.length, text });
    }
    const kind = globalKind(node, source);
    if (kind !== undefined) facts.globals.push({ kind, line: lineOf(node.getStart(source)) });
    ts.forEachChild(node, visit);
  };
  visit(source);
  facts.exports = exportedNames(source);
  return facts;
}

function exportedNames(source) {
  const names = [];
  for (const statement of source.statements) {
    if (ts.isExportDeclaration(statement)) {
      const elements = statement.exportClause?.elements;
      if (elements === undefined) names.push('*');
      for (const element of elements ?? []) names.push(element.name.text);
    } else if (statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) {
      const declared = statement.declarationList?.declarations ?? [statement];
      for (const { name } of declared) names.push(name?.getText(source) ?? 'default');
    }
  }
  return names;
}

const files = readFileSync(0, 'utf8').split('\n').filter(Boolean);
process.stdout.write(JSON.stringify(Object.fromEntries(files.map((f) => [f, factsOf(f)]))));
