/**
 * Which test files run beside each other, in what order. A file of test/netns runs alone unless it is named here, so
 * that a new one does not find neighbours that its bounds never met. Forks, not threads: the native addon and network namespaces
 * belong to a process. docs/testing.md says which projects `make test` and `make test-all` run.
 */
import { existsSync } from 'node:fs'
import { configDefaults, defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.ts'

/** No root, no program, no thread, no socket, no wait (test/support/unit-rules.ts): seconds for all of them (docs/testing.md). */
const UNIT = [
  'test/architecture.test.ts',
  'test/references.test.ts',
  'test/style.test.ts',
  'test/conformance/**/*.test.ts',
  'test/page/model/**/*.test.ts',
  'test/scenario/**/*.test.ts',
  'test/unit/**/*.test.ts',
]

/** Each takes a CPU, and gets what the files of `waiting` leave (test/support/low-priority.ts). */
const COMPUTING = [
  'test/explorer/**/*.test.ts',
  'test/fuzz/**/*.test.ts',
  'test/property/**/*.test.ts',
  'test/simulator/**/*.test.ts',
]

/**
 * Daemons on LANs of their own, programs and threads, which wait for timers most of the time. A file that measures milliseconds, takes a CPU
 * or has an interval of 10 ms is not among them.
 */
const WAITING = [
  'test/integration/**/*.test.ts',
  'test/interop/file-matrix.test.ts',
  'test/interop/haproxy.test.ts',
  'test/interop/heal-order.test.ts',
  'test/interop/keepalived-beside.test.ts',
  'test/interop/keepalived-files.test.ts',
  'test/interop/keepalived-values.test.ts',
  'test/interop/rolling-replacement.test.ts',
  'test/interop/samples.test.ts',
  'test/interop/mismatched-routers.test.ts',
  'test/interop/unreached-peer.test.ts',
  'test/netns/address-news.test.ts',
  'test/netns/agent.test.ts',
  'test/netns/agent-duties.test.ts',
  'test/netns/agent-keepalived.test.ts',
  'test/netns/agent-outage.test.ts',
  'test/netns/agent-print.test.ts',
  'test/netns/agent-real-keepalived.test.ts',
  'test/netns/agent-relocation.test.ts',
  'test/netns/agent-redirect-file.test.ts',
  'test/netns/agent-status.test.ts',
  'test/netns/api.test.ts',
  'test/netns/bad-input.test.ts',
  'test/netns/capture.test.ts',
  'test/netns/cli.test.ts',
  'test/netns/cluster-bootstrap.test.ts',
  'test/netns/cluster-five.test.ts',
  'test/netns/cluster-migration.test.ts',
  'test/netns/code-cache.test.ts',
  'test/netns/crash-steady.test.ts',
  'test/netns/dead-disk.test.ts',
  'test/netns/dns-dnsmasq.test.ts',
  'test/netns/dns.test.ts',
  'test/netns/explain.test.ts',
  'test/netns/explain-third.test.ts',
  'test/netns/healthcheck.test.ts',
  'test/netns/ingress-off.test.ts',
  'test/netns/installing-owner.test.ts',
  'test/netns/ipv6.test.ts',
  'test/netns/journal.test.ts',
  'test/netns/journald.test.ts',
  'test/netns/keepalived-profile.test.ts',
  'test/netns/keepalived-reload.test.ts',
  'test/netns/lab.test.ts',
  'test/netns/linux-expected.test.ts',
  'test/netns/linux-frames.test.ts',
  'test/netns/linux-guardian.test.ts',
  'test/netns/linux-neighbors.test.ts',
  'test/netns/node-dns.test.ts',
  'test/netns/linux-network.test.ts',
  'test/netns/linux-renewals.test.ts',
  'test/netns/linux-sockets.test.ts',
  'test/netns/log.test.ts',
  'test/netns/managed.test.ts',
  'test/netns/monitor.test.ts',
  'test/netns/monitor-weights.test.ts',
  'test/netns/moving-network.test.ts',
  'test/netns/native-addon.test.ts',
  'test/netns/native-bin.test.ts',
  'test/netns/node-ip.test.ts',
  'test/netns/node-versions.test.ts',
  'test/netns/notify.test.ts',
  'test/netns/open-connections.test.ts',
  'test/netns/optional-packages.test.ts',
  'test/netns/holder-status.test.ts',
  'test/netns/pod-contract.test.ts',
  'test/netns/presets.test.ts',
  'test/netns/privileges.test.ts',
  'test/netns/prometheus.test.ts',
  'test/netns/duplicate-detection.test.ts',
  'test/netns/raw-socket.test.ts',
  'test/netns/recording.test.ts',
  'test/netns/reload.test.ts',
  'test/netns/runtimecfg.test.ts',
  'test/netns/service-manager.test.ts',
  'test/netns/shared-backend.test.ts',
  'test/netns/troubleshooting.test.ts',
  'test/netns/vips-elsewhere.test.ts',
  'test/netns/webhook.test.ts',
  'test/page/status-page.test.ts',
]

/**
 * Bounds of milliseconds, and several pairs of daemons in a file. With three files beside each other, bounds were missed. The files with
 * intervals of 10 ms use real-time priority, or judge the order of events only.
 */
const TIMED = [
  'test/interop/frr.test.ts',
  'test/interop/keepalived-v2.test.ts',
  'test/interop/keepalived-v3.test.ts',
  'test/netns/backup-watch.test.ts',
  'test/netns/carrier.test.ts',
  'test/netns/cluster-cold-start.test.ts',
  'test/netns/cold-start.test.ts',
  'test/netns/confined.test.ts',
  'test/netns/demotion.test.ts',
  'test/netns/doctor.test.ts',
  'test/netns/failover.test.ts',
  'test/netns/guardian-deadline.test.ts',
  'test/netns/guardian.test.ts',
  'test/netns/lease.test.ts',
  'test/netns/native-probe.test.ts',
  'test/netns/node-services.test.ts',
  'test/netns/port.test.ts',
  'test/netns/quiet-lan.test.ts',
  'test/netns/relocation.test.ts',
  'test/netns/safety-nets.test.ts',
  'test/netns/security-claims.test.ts',
  'test/netns/security-modes.test.ts',
  'test/netns/security.test.ts',
  'test/netns/shutdown.test.ts',
  'test/netns/upgrade.test.ts',
]

/**
 * Long forms, which `make test-all` adds: a model held against the real keepalived, scenarios that unit tests play as well, and the soak at
 * intervals of 100 ms. The packages of a release are built here. Random faults come with the output of `explain` after each of them.
 */
const LONG = [
  'test/chaos/**/*.test.ts',
  'test/interop/keepalived-model.test.ts',
  'test/netns/explain-chaos.test.ts',
  'test/netns/release.test.ts',
  'test/netns/shared-scenarios.test.ts',
  'test/soak/**/*.test.ts',
]

/** Long forms that need the machine for themselves: every accident of the two matrices at 10 ms, 255 routers. */
const LONG_ALONE = [
  'test/netns/crash-lone.test.ts',
  'test/netns/crash-matrix.test.ts',
  'test/netns/many-routers.test.ts',
]

/** Files of `waiting` and `computing` that run together on two cores: on average a waiting one takes a seventh of a CPU. With nine, the group took longer. */
const TOGETHER = 7

/** With a Docker engine, which changes the firewall and forwarding of the machine: after all others (scripts/container-tests.sh). */
const CONTAINER = ['test/container/**/*.test.ts']

for (const file of [...WAITING, ...TIMED, ...LONG, ...LONG_ALONE])
  if (!file.includes('*') && !existsSync(new URL(file, import.meta.url)))
    throw new Error(`Cannot sort test files into projects: there is no ${file}`)

/** With the programs of a real Kubernetes cluster (scripts/cluster-binaries.sh); `make cluster-test` runs them, one at a time. */
const CLUSTER = ['test/cluster/**/*.test.ts']

type Further = {
  readonly exclude?: readonly string[]
  readonly globalSetup?: string[]
  readonly setupFiles?: string[]
  readonly testTimeout?: number
}

/** Groups come one after the other; of each, so many files are beside each other. Two projects with one order are one group. */
const group = (
  order: number,
  name: string,
  beside: number,
  include: string[],
  { exclude = [], ...further }: Further = {},
) => ({
  extends: true as const,
  test: {
    ...further,
    name,
    include,
    exclude: [...configDefaults.exclude, ...exclude],
    maxWorkers: beside,
    sequence: { groupOrder: order },
  },
})

export default defineConfig({
  test: {
    pool: 'forks',
    setupFiles: ['test/support/cost-of-file.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default'],
    // Each project and each attempt would transform every module again.
    experimental: { fsModuleCache: true },
    // The first line of a failure has to say what was seen, not "[ Array(1) ]": often it is all that is kept.
    chaiConfig: { truncateThreshold: 1_000 },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true as const,
        test: {
          name: 'unit',
          include: UNIT,
          setupFiles: ['test/support/unit-rules.ts'],
          // Modules are loaded once for all files, in an order that changes: what one file leaves behind, another one finds.
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 0, shuffle: true },
        },
      },
      group(1, 'waiting', TOGETHER, WAITING),
      group(1, 'computing', TOGETHER, COMPUTING, {
        setupFiles: ['test/support/low-priority.ts'],
        testTimeout: 300_000,
      }),
      group(2, 'timed', 2, TIMED),
      group(3, 'alone', 1, ['test/**/*.test.ts'], {
        exclude: [...UNIT, ...COMPUTING, ...WAITING, ...TIMED, ...LONG, ...LONG_ALONE, ...CONTAINER, ...CLUSTER],
      }),
      group(4, 'long', 3, LONG),
      group(5, 'long-alone', 1, LONG_ALONE),
      group(6, 'container', 3, CONTAINER, { globalSetup: ['test/container/build-image.ts'] }),
      group(7, 'cluster', 1, CLUSTER),
    ],
  },
})
