import { VERSION_INFO } from './version-info.js';

const OLDEST_NODE = 20;

/**
 * The command `agent-eval`. It answers what needs nothing itself and loads the engine for the rest: this
 * file must stay small, since every start pays for it.
 */
async function main(args: readonly string[]): Promise<void> {
  const node = Number(process.versions.node.split('.')[0]);
  if (node < OLDEST_NODE) {
    process.stderr.write(
      `agent-eval needs Node.js ${OLDEST_NODE} or newer; this is ${process.versions.node}.\n`,
    );
    process.exitCode = 1;
    return;
  }
  const command = args.join(' ');
  if (command === '--version' || command === '-V') {
    process.stdout.write(`${VERSION_INFO.version}\n`);
    return;
  }
  if (command === 'rpc version') {
    process.stdout.write(`${JSON.stringify({ result: VERSION_INFO })}\n`);
    return;
  }
  const engine = await import('./engine.js');
  const method = /^rpc ([a-zA-Z.]+)$/.exec(command)?.[1];
  if (method !== undefined) return (await engine.loadRpc()).runRpc({ kind: 'one-shot', method });
  if (command === 'rpc --session') return (await engine.loadRpc()).runRpc({ kind: 'session' });
  await (await engine.loadCli()).runCli(args);
}

void main(process.argv.slice(2));
