import { defineConfig } from 'vitest/config'

// Forks, not threads: the native addon and network namespaces belong to a process. One file at a time: two shared
// cores, and real timers in test/netns and test/interop must not compete with each other.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default'],
  },
})
