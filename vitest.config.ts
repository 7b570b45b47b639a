/**
 * In which order test files run, and which beside each other. Decides that a file runs alone unless it is named here: a
 * new one in test/netns must not find company that its bounds never met. Forks, not threads: the native addon and network
 * namespaces belong to a process.
 */
import { existsSync } from 'node:fs'
import { configDefaults, defineConfig } from 'vitest/config'

/** No real timers, sockets or processes: nothing in them depends on the company, two cores are two files. */
const COMPUTING = ['test/property/**/*.test.ts', 'test/conformance/**/*.test.ts', 'test/scenario/**/*.test.ts']

/**
 * Daemons on a LAN of their own, which wait for each other's timers and for states of second intervals most of the time.
 * What measures milliseconds, takes a CPU for itself or has an interval of 10 ms is not among them.
 */
const WAITING = [
  'test/interop/frr.test.ts',
  'test/interop/haproxy.test.ts',
  'test/interop/heal-order.test.ts',
  'test/interop/keepalived-v2.test.ts',
  'test/interop/keepalived-v3.test.ts',
  'test/interop/strangers.test.ts',
  'test/interop/unreached-peer.test.ts',
  'test/netns/crash-steady.test.ts',
  'test/netns/ipv6.test.ts',
  'test/netns/moving-network.test.ts',
  'test/netns/presets.test.ts',
  'test/netns/privileges.test.ts',
  'test/netns/radar.test.ts',
  'test/netns/reload.test.ts',
]
for (const file of WAITING)
  if (!existsSync(new URL(file, import.meta.url))) throw new Error(`vitest.config.ts: ${file} does not exist`)

const files = (
  name: string,
  order: number,
  include: readonly string[],
  beside: number,
  exclude: readonly string[] = [],
) => ({
  extends: true as const,
  test: {
    name,
    include: [...include],
    exclude: [...configDefaults.exclude, ...exclude],
    maxWorkers: beside,
    sequence: { groupOrder: order },
  },
})

export default defineConfig({
  test: {
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default'],
    // The first line of a failure has to say what was seen, not "[ Array(1) ]": often it is all that is kept.
    chaiConfig: { truncateThreshold: 1_000 },
    projects: [
      files('computing', 1, COMPUTING, 2),
      files('waiting', 2, WAITING, 3),
      files('alone', 3, ['test/**/*.test.ts'], 1, [...COMPUTING, ...WAITING]),
    ],
  },
})
