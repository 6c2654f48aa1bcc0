import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Sources only: a build leaves dist/*.test.js beside them.
    include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
