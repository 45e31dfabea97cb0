import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

const read = (file: string) => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));
const methods = read('./packages/contract/generated/methods.json');

export default defineConfig({
  define: {
    __VERSION_INFO__: JSON.stringify({
      package: methods.package,
      version: read('./packages/agent-eval/package.json').version,
      wireVersion: methods.wireVersion,
      apiSurface: methods.methods.map(({ name }: { name: string }) => name),
    }),
  },
  test: {
    include: ['packages/*/src/**/*.test.ts'],
    testTimeout: 20_000,
  },
});
