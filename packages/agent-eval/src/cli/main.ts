export async function runCli(args: readonly string[]): Promise<void> {
  if (args[0] === 'serve') {
    const { runServe } = await import('../entries/serve.js');
    process.exit(await runServe({ port: args[2] }));
  }
}
