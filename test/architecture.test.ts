/**
 * The house plan as a table: which folder may import which, and which packages.
 * A new folder or a new edge fails here first; change the plan by an ADR (docs/adr/), then this table.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { functionsInC, functionsOf, type SourceFunction } from './support/functions-of.ts'

const ROOT = join(import.meta.dirname, '..')
const SRC = join(ROOT, 'src')

type Rule = { folders: readonly string[]; packages: readonly string[] }
const PURE = { packages: [] as string[] }

/**
 * Per folder: the other folders that it may import, and the packages (node: = Node's own modules). The order is that of the
 * arrows: a folder imports only folders above it. docs/architecture.md says what each is for.
 */
const PLAN: Record<string, Rule> = {
  // Helpers without a subject, which every folder may import (docs/adr/0081).
  base: { folders: [], ...PURE },
  // The events of the log: code, level, fields and meaning.
  log: { folders: [], ...PURE },
  wire: { folders: [], packages: ['ipaddr.js'] },
  // The subset of Go's text/template in which a cluster's templates are written (docs/adr/0092).
  template: { folders: [], ...PURE },
  vrrp: { folders: ['wire'], ...PURE },
  // Wrappers around the state machine, which does not know them (docs/adr/0006).
  'vrrp/extensions': { folders: ['wire', 'vrrp'], ...PURE },
  arp: { folders: ['wire'], ...PURE },
  healthcheck: { folders: ['wire'], packages: ['node:'] },
  // Programs and webhooks that are notified of state changes (docs/adr/0029).
  notify: { folders: ['wire', 'healthcheck'], packages: ['node:'] },
  config: { folders: ['wire', 'vrrp', 'vrrp/extensions', 'healthcheck', 'notify'], packages: ['yaml', 'zod'] },
  metrics: { folders: [], packages: ['prom-client'] },
  // What a node remembers: events as values, and the file that keeps them (docs/adr/0039).
  events: { folders: [], packages: ['node:', 'zod'] },
  daemon: {
    folders: ['log', 'wire', 'vrrp', 'vrrp/extensions', 'arp', 'config', 'healthcheck', 'events', 'metrics', 'notify'],
    packages: ['node:'],
  },
  linux: { folders: ['log', 'wire', 'daemon'], packages: ['node:', 'node-gyp-build', 'raw-socket'] },
  // What is read from this node's disk for a configuration, and the sockets that lie there.
  files: { folders: ['config', 'healthcheck'], packages: ['node:', 'zod'] },
  // What stands in for keepalived at run time: dumps, flags, socket (docs/adr/0030).
  keepalived: { folders: ['log', 'wire', 'config', 'daemon', 'files'], packages: ['node:'] },
  http: {
    folders: ['config', 'daemon', 'events', 'files', 'keepalived', 'metrics', 'notify'],
    packages: ['node:', 'zod'],
  },
  // The thread beside the engine, and the engine's side of it.
  worker: {
    folders: [
      'log',
      'wire',
      'config',
      'daemon',
      'events',
      'files',
      'healthcheck',
      'http',
      'keepalived',
      'metrics',
      'notify',
    ],
    packages: ['node:'],
  },
  // What is wrong with a machine, judged from measurements alone (docs/adr/0037).
  doctor: { folders: ['wire', 'vrrp'], ...PURE },
  // The events of several nodes as one story (docs/adr/0039).
  explain: { folders: ['vrrp', 'events'], ...PURE },
  // The agent beside the engine (docs/adr/0051): decisions alone, and what asks the cluster and does what was decided.
  'cluster/decisions': { folders: ['log', 'template', 'wire', 'config'], packages: ['yaml', 'zod'] },
  'cluster/runtime': {
    folders: ['log', 'wire', 'config', 'cluster/decisions'],
    packages: ['node:', '@kubernetes/client-node', 'zod'],
  },
  // What an engine is told and does, written down and played again (docs/adr/0058).
  recording: {
    folders: ['wire', 'vrrp', 'config', 'daemon', 'events', 'notify'],
    packages: ['node:', 'zod'],
  },
  // The engine on simulated nodes (docs/adr/0055): nothing imports it but cli, and tests.
  simulator: {
    folders: ['wire', 'vrrp', 'arp', 'config', 'daemon', 'healthcheck', 'linux', 'recording'],
    packages: ['zod'],
  },
  // The processes of the daemon, put together: start, live configuration, shut down.
  app: {
    folders: [
      'log',
      'wire',
      'config',
      'daemon',
      'events',
      'files',
      'http',
      'keepalived',
      'linux',
      'recording',
      'worker',
    ],
    packages: ['node:', 'pino', 'zod'],
  },
  // Network namespaces, daemons and clients in them: for the demo, the tests and the benchmarks (docs/adr/0081).
  lab: { folders: ['daemon', 'files'], packages: ['node:'] },
  cli: {
    // arp: `capture` reads the frames of others (docs/adr/0011).
    folders: [
      'app',
      'arp',
      'cluster/decisions',
      'cluster/runtime',
      'config',
      'daemon',
      'doctor',
      'events',
      'explain',
      'files',
      'http',
      'keepalived',
      'lab',
      'linux',
      'log',
      'metrics',
      'recording',
      'simulator',
      'template',
      'vrrp',
      'wire',
    ],
    packages: ['node:', 'commander', 'pino', 'zod'],
  },
  'main.ts': { folders: ['cli'], packages: ['node:'] },
}

/** More files than this side by side are a folder in which nothing is found. */
const MOST_FILES = 20
/** More lines than this are more than one job. */
const LONGEST_FILE = 300
/** Files that have more, and why. The list only shrinks: a name that is no longer needed fails. */
const LONG_FILES: Record<string, string> = {
  'metrics/names.ts': 'one table of all metrics, from which docs/metrics.md is made',
  'daemon/router/router.ts': 'no other file writes a field of a router (docs/adr/0081)',
}

/** A file with fewer lines than this is hard to find, and its reader opens one file more. */
const SHORTEST_FILE = 11
/** Files that have fewer, and why. The list only shrinks: a name that is no longer needed fails. */
const SHORT_FILES: Record<string, string> = {
  'app/version.ts': 'a reader looks for the version under this name',
  'base/message-of.ts': 'every folder imports it',
  'config/text/yaml.ts': 'the way of a YAML text, beside that of a keepalived file',
}

/** A function with more lines than this does not fit on a screen. */
const LONGEST_FUNCTION = 60
/** Edges that are narrower than their folder: this file may take only these files from there. */
const NARROW: Record<string, Record<string, readonly string[]>> = {
  lab: { daemon: ['telemetry/snapshot.ts'], files: ['control-client.ts'] },
  // docs/architecture.md: linux implements the daemon's ports, it does not know the daemon.
  linux: { daemon: ['ports.ts'] },
  // How a packet is dated, which is arithmetic; no socket. Of the protocol its octets and durations: a neighbour has a state
  // machine of its own (docs/adr/0055).
  simulator: { linux: ['sockets/receive-time.ts'], vrrp: ['packet.ts', 'parameters.ts', 'timers.ts'] },
  // Values only (docs/adr/0024).
  config: { healthcheck: ['check.ts'], notify: ['notification.ts', 'webhook.ts'] },
  http: {
    daemon: [
      'health/healthcheck-snapshot.ts',
      'telemetry/chronicle.ts',
      'telemetry/report.ts',
      'telemetry/snapshot.ts',
    ],
  },
  // The texts for the codes of reasons, not the protocol.
  explain: { vrrp: ['reason-text.ts'] },
  keepalived: { daemon: ['health/healthcheck-snapshot.ts', 'telemetry/recorder.ts', 'telemetry/snapshot.ts'] },
  worker: { daemon: ['ports.ts', 'telemetry/chronicle.ts', 'telemetry/report.ts', 'telemetry/snapshot.ts'] },
  // The engine knows what checks say, not how they are run (docs/adr/0025).
  daemon: {
    healthcheck: [
      'check.ts',
      'check-message.ts',
      'check-report.ts',
      'combination.ts',
      'health.ts',
      'held-health.ts',
      'probe-result.ts',
    ],
    notify: ['keepalived-arguments.ts', 'notification.ts'],
  },
}

/**
 * Modules of the status page that need no browser: `holdfast status` has the page's sentences (docs/adr/0041). These
 * modules are the only imports with another ending than `.ts`.
 */
const SHARED_WITH_PAGE = [
  'http/page/cluster.js',
  'http/page/headline.js',
  'http/page/memory.js',
  'http/page/reasons.js',
  'http/page/words.js',
]

/**
 * Where keepalived's words are spoken besides its own reader, because those who listen know no others: the dumps that
 * probes and exporters read (docs/adr/0030), programs that are told of changes (docs/adr/0029), and the API's labels.
 */
const SPEAKS_KEEPALIVED = [
  'keepalived/counts.ts',
  'keepalived/dump.ts',
  'cluster/decisions/engine/upstream-names.ts',
  // The path of HAProxy's socket.
  'cluster/decisions/haproxy/monitor-settings.ts',
  'notify/keepalived-arguments.ts',
  // A peer in a lab: its configuration and its log.
  'lab/daemons/frr.ts',
  'lab/daemons/keepalived.ts',
]

/** iproute2's keyword for the bridge of a port, which has no other word. */
const IPROUTE2 = /link set \S+ master \S+/g

/** Files of effect folders that are pure all the same (also listed in tsconfig.core.json). */
const PURE_FILES = [
  'daemon/addresses/reconcile.ts',
  'healthcheck/check-message.ts',
  'healthcheck/check-report.ts',
  'healthcheck/check.ts',
  'healthcheck/combination.ts',
  'healthcheck/health.ts',
  'healthcheck/held-health.ts',
  'healthcheck/probe-result.ts',
  'healthcheck/programs/program-set.ts',
  'healthcheck/schedule.ts',
  'linux/netlink/message.ts',
  'metrics/exporter-names.ts',
  'metrics/histogram.ts',
  'metrics/names.ts',
  'notify/keepalived-arguments.ts',
  'notify/notification.ts',
]

function filesBelow(dir: string): string[] {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name)
    return statSync(path).isDirectory() ? filesBelow(path) : [path]
  })
}

const linesOf = (file: string): number => readFileSync(file, 'utf8').split('\n').length - 1

/** Folders with more files side by side than a reader can look through. */
function crowdedFolders(all: readonly string[]): readonly string[] {
  const sizes = new Map<string, number>()
  for (const file of all) sizes.set(dirname(file), (sizes.get(dirname(file)) ?? 0) + 1)
  return [...sizes].flatMap(([folder, size]) => (size > MOST_FILES ? `${relative(ROOT, folder)} ${size}` : []))
}

/** Functions that do not fit on a screen. */
const longFunctions = (all: readonly string[], functionsIn: (text: string) => readonly SourceFunction[]) =>
  all.flatMap((file) =>
    functionsIn(readFileSync(file, 'utf8')).flatMap(({ lines, name }) =>
      lines > LONGEST_FUNCTION ? `${relative(ROOT, file)} ${name} ${lines}` : [],
    ),
  )

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]|(?:^|\n)import\s+['"]([^'"]+)['"]/g,
  )
  return [...found].map((m) => m[1] ?? m[2] ?? m[3] ?? '')
}

const files = filesBelow(SRC).filter((path) => path.endsWith('.ts'))
/** The folder of the plan that a file belongs to: `cluster/decisions`, `daemon`, or the name of a file beside the folders. */
const roomOf = (path: string): string => {
  const [first = '', second] = relative(SRC, path).split('/')
  const nested = `${first}/${second}`
  return nested in PLAN ? nested : first
}

/** The files that a file imports, by their paths. */
const importedBy = (file: string): readonly string[] =>
  importsOf(file).flatMap((target) => (target.startsWith('.') ? normalize(join(dirname(file), target)) : []))

/** The files of this repository that a C file includes, by their paths. */
const includedBy = (file: string): readonly string[] =>
  [...readFileSync(file, 'utf8').matchAll(/^#include "([^"]+)"/gm)].map(([, path = '']) => join(dirname(file), path))

/** Files that import each other, directly or by others (strongly connected components, Tarjan 1972). */
function circlesIn(all: readonly string[], importsFrom = importedBy): readonly (readonly string[])[] {
  const order = new Map<string, number>()
  const open: string[] = []
  const circles: string[][] = []
  const visit = (file: string): number => {
    const number = order.size
    order.set(file, number)
    open.push(file)
    let low = number
    for (const target of importsFrom(file)) {
      if (!all.includes(target)) continue
      if (!order.has(target)) low = Math.min(low, visit(target))
      else if (open.includes(target)) low = Math.min(low, order.get(target) ?? low)
    }
    if (low === number) {
      const circle = open.splice(open.indexOf(file))
      if (circle.length > 1) circles.push(circle)
    }
    return low
  }
  for (const file of all) if (!order.has(file)) visit(file)
  return circles
}

describe('architecture', () => {
  test.each(SHARED_WITH_PAGE)('%s imports only modules that need no browser', (path) => {
    const folder = dirname(join(SRC, path))
    // A comment imports types from .ts, which a browser does not load.
    const loaded = importsOf(join(SRC, path)).filter((target) => !target.endsWith('.ts'))
    const imported = loaded.map((target) => relative(SRC, join(folder, target)))
    expect(imported.filter((each) => !SHARED_WITH_PAGE.includes(each))).toEqual([])
  })

  test('every folder of src is in the plan', () => {
    const rooms = [...new Set(files.map(roomOf))]
    expect(rooms.filter((room) => !(room in PLAN))).toEqual([])
  })

  test('no folder of src has more files side by side than a reader can look through', () => {
    expect(crowdedFolders(files)).toEqual([])
  })

  test('no file of src has more than 300 lines, except those with a reason', () => {
    const long = files.filter((file) => linesOf(file) > LONGEST_FILE)
    expect(long.map((file) => relative(SRC, file)).sort()).toEqual(Object.keys(LONG_FILES).sort())
  })

  test('no file of src has ten lines or fewer, except those with a reason', () => {
    const short = files.filter((file) => linesOf(file) < SHORTEST_FILE)
    expect(short.map((file) => relative(SRC, file)).sort()).toEqual(Object.keys(SHORT_FILES).sort())
  })

  test('no function of src has more than 60 lines', () => {
    expect(longFunctions(files, functionsOf)).toEqual([])
  })

  test('no folder of native has more than 20 C files, no file more than 300 lines, no function more than 60', () => {
    const native = filesBelow(join(ROOT, 'native')).filter((path) => /\.[ch]$/.test(path))
    expect(native.length).toBeGreaterThan(50)
    expect(crowdedFolders(native.filter((path) => path.endsWith('.c')))).toEqual([])
    expect(native.filter((file) => linesOf(file) > LONGEST_FILE)).toEqual([])
    expect(longFunctions(native, functionsInC)).toEqual([])
    expect(circlesIn(native, includedBy)).toEqual([])
  })

  test('the functions of a C file are found with their lines', () => {
    const text = [
      'static const int TABLE[] = {',
      '    1,',
      '};',
      'struct one {',
      '  int (*call)(void);',
      '};',
      'static bool turn(struct one *one,',
      '                 int signals) {',
      '  if (signals) {',
      '  }',
      '  return true;',
      '}',
      'int declared(void);',
      'int main(void) {',
      '}',
    ]
    expect(functionsInC(text.join('\n'))).toEqual([
      { name: 'turn', lines: 6 },
      { name: 'main', lines: 2 },
    ])
  })

  test.each(files.map((file) => [relative(ROOT, file), file] as const))(
    '%s imports only what the plan allows',
    (_, file) => {
      const room = roomOf(file)
      const rule = PLAN[room]
      if (rule === undefined) return
      const pure = PURE_FILES.includes(relative(SRC, file))
      const wrong: string[] = []
      for (const target of importsOf(file)) {
        if (target.startsWith('.')) {
          const resolved = normalize(join(dirname(file), target))
          const other = roomOf(resolved)
          if (other === room) continue
          const narrow = NARROW[room]?.[other]
          const inside = relative(join(SRC, other), resolved)
          if (other !== 'base' && !rule.folders.includes(other))
            wrong.push(`${target}: ${room} must not import ${other}`)
          else if (narrow !== undefined && !narrow.includes(inside))
            wrong.push(`${target}: only ${narrow.join(', ')} of ${other}`)
          const isShared = room === 'cli' && SHARED_WITH_PAGE.includes(relative(SRC, resolved))
          if (!target.endsWith('.ts') && !isShared) wrong.push(`${target}: write the .ts ending`)
        } else if (pure || !rule.packages.some((p) => target === p || (p.endsWith(':') && target.startsWith(p)))) {
          wrong.push(`${target}: not a package of ${room}`)
        }
      }
      expect(wrong).toEqual([])
    },
  )

  test('no files of src import each other in a circle, types included', () => {
    expect(circlesIn(files).map((circle) => circle.map((file) => relative(SRC, file)))).toEqual([])
  })

  test('a circle is found among files that are in none', () => {
    const imports: Record<string, readonly string[]> = { a: ['b', 'd'], b: ['c'], c: ['a', 'd'], d: ['e'], e: [] }
    const found = circlesIn(Object.keys(imports), (file) => imports[file] ?? [])
    expect(found.map((circle) => [...circle].sort())).toEqual([['a', 'b', 'c']])
  })

  test('the product name of the machine-room peers stays out of the core', () => {
    // Words: RFC 9568 says Active; keepalived's word belongs to its own reader (docs/architecture.md, Protocol decisions).
    const offenders = files
      .filter((file) => !file.includes('/config/keepalived/') && !SPEAKS_KEEPALIVED.includes(relative(SRC, file)))
      .filter((file) => /\bmaster\b/i.test(readFileSync(file, 'utf8').replace(IPROUTE2, '')))
    expect(offenders.map((file) => relative(ROOT, file))).toEqual([])
  })
})
