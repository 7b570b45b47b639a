/**
 * The house plan as a table: which folder may import which, and which packages.
 * A new folder or a new edge fails here first; change the plan by an ADR (docs/adr/), then this table.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const SRC = join(ROOT, 'src')

type Rule = { folders: readonly string[]; packages: readonly string[] }
const PURE = { packages: [] as string[] }

/** Per folder: the other folders it may import and the packages (node: = Node's own modules). */
const PLAN: Record<string, Rule> = {
  wire: { folders: [], packages: ['ipaddr.js'] },
  vrrp: { folders: ['wire'], ...PURE },
  arp: { folders: ['wire'], ...PURE },
  healthcheck: { folders: ['wire'], packages: ['node:'] },
  // Programs that are told of changes of state (docs/adr/0029).
  notify: { folders: ['wire', 'healthcheck'], packages: ['node:'] },
  config: { folders: ['wire', 'vrrp', 'healthcheck', 'notify'], packages: ['yaml', 'zod'] },
  metrics: { folders: [], packages: ['prom-client'] },
  // What a node remembers, as values (docs/adr/0039).
  journal: { folders: [], packages: ['zod'] },
  daemon: {
    folders: ['wire', 'vrrp', 'arp', 'config', 'healthcheck', 'journal', 'metrics', 'notify'],
    packages: ['node:'],
  },
  api: {
    folders: ['wire', 'config', 'daemon', 'healthcheck', 'journal', 'metrics', 'notify'],
    packages: ['node:', 'zod'],
  },
  // What is wrong with a machine, judged from measurements alone (docs/adr/0037).
  doctor: { folders: ['wire', 'vrrp'], ...PURE },
  // The journals of several nodes as one story (docs/adr/0039).
  explain: { folders: ['journal'], ...PURE },
  // What the cluster around a node means for it: decisions alone (docs/adr/0051).
  kubernetes: { folders: ['wire', 'config'], packages: ['yaml', 'zod'] },
  // The process beside the engine that asks the cluster and does what was decided. Nothing imports it but cli.
  agent: { folders: ['wire', 'config', 'kubernetes'], packages: ['node:', '@kubernetes/client-node', 'zod'] },
  // What an engine is told and does, written down and played again (docs/adr/0058).
  recording: {
    folders: ['wire', 'vrrp', 'config', 'daemon', 'journal', 'notify'],
    packages: ['node:', 'zod'],
  },
  // The engine on simulated nodes (docs/adr/0055): nothing imports it but cli, and tests.
  simulator: {
    folders: ['wire', 'vrrp', 'arp', 'config', 'daemon', 'healthcheck', 'linux', 'recording'],
    packages: ['zod'],
  },
  linux: { folders: ['wire', 'daemon'], packages: ['node:', 'node-gyp-build', 'raw-socket'] },
  cli: {
    // arp: `capture` reads the frames of others (docs/adr/0074).
    folders: [
      'wire',
      'vrrp',
      'agent',
      'arp',
      'config',
      'daemon',
      'doctor',
      'explain',
      'journal',
      'kubernetes',
      'linux',
      'metrics',
      'api',
      'recording',
      'simulator',
    ],
    packages: ['node:', 'commander', 'pino', 'zod'],
  },
  'main.ts': { folders: ['cli'], packages: ['node:'] },
}

/** Edges that are narrower than their folder: this file may take only these files from there. */
const NARROW: Record<string, Record<string, readonly string[]>> = {
  // design.md §2: linux implements the daemon's ports, it does not know the daemon.
  linux: { daemon: ['ports.ts'] },
  // How a packet is dated, which is arithmetic; no socket. Of the protocol its octets and durations: a neighbour has a state
  // machine of its own (docs/adr/0059).
  simulator: { linux: ['receive-time.ts'], vrrp: ['packet.ts', 'parameters.ts', 'timers.ts'] },
  // Values only (docs/adr/0024).
  config: { healthcheck: ['check.ts'], notify: ['notification.ts', 'webhook.ts'] },
  api: { daemon: ['chronicle.ts', 'healthcheck-snapshot.ts', 'ports.ts', 'report.ts', 'snapshot.ts'] },
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
    notify: ['keepalived-words.ts', 'notification.ts'],
  },
}

/**
 * Modules of the status page that need no browser: `holdfast status` has the page's sentences (docs/adr/0066). They are the
 * only imports with another ending than `.ts`.
 */
const SHARED_WITH_PAGE = ['api/page/cluster.js', 'api/page/headline.js', 'api/page/memory.js', 'api/page/words.js']

/**
 * Where keepalived's words are spoken besides its own reader, because those who listen know no others: the dumps that
 * probes and exporters read (docs/adr/0030), programs that are told of changes (docs/adr/0029), and the API's labels.
 */
const SPEAKS_KEEPALIVED = [
  'api/keepalived-counts.ts',
  'api/keepalived-dump.ts',
  'kubernetes/upstream-words.ts',
  'notify/keepalived-words.ts',
]

/** iproute2's keyword for the bridge of a port, which has no other word. */
const IPROUTE2 = /link set \S+ master \S+/g

/** Files of effect folders that are pure all the same (also listed in tsconfig.core.json). */
const PURE_FILES = [
  'daemon/reconcile.ts',
  'healthcheck/check-message.ts',
  'healthcheck/check-report.ts',
  'healthcheck/check.ts',
  'healthcheck/combination.ts',
  'healthcheck/health.ts',
  'healthcheck/held-health.ts',
  'healthcheck/probe-result.ts',
  'healthcheck/program-set.ts',
  'healthcheck/schedule.ts',
  'linux/netlink/message.ts',
  'metrics/exporter-names.ts',
  'metrics/histogram.ts',
  'metrics/names.ts',
  'notify/keepalived-words.ts',
  'notify/notification.ts',
]

function sources(dir: string): string[] {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name)
    return statSync(path).isDirectory() ? sources(path) : path.endsWith('.ts') ? [path] : []
  })
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]|(?:^|\n)import\s+['"]([^'"]+)['"]/g,
  )
  return [...found].map((m) => m[1] ?? m[2] ?? m[3] ?? '')
}

const files = sources(SRC)
const roomOf = (path: string) => relative(SRC, path).split('/')[0] ?? ''

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
          if (!rule.folders.includes(other)) wrong.push(`${target}: ${room} must not import ${other}`)
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

  test('the product name of the machine-room peers stays out of the core', () => {
    // Words: RFC 9568 says Active; keepalived's word belongs to its own reader (design.md §3).
    const offenders = files
      .filter((file) => !file.includes('/config/keepalived/') && !SPEAKS_KEEPALIVED.includes(relative(SRC, file)))
      .filter((file) => /\bmaster\b/i.test(readFileSync(file, 'utf8').replace(IPROUTE2, '')))
    expect(offenders.map((file) => relative(ROOT, file))).toEqual([])
  })
})
