/**
 * Parts of the page that do not concern one virtual router: health checks, the engine, the other nodes, the last
 * events. This file does not know where values come from.
 */
import { namesOf, shownAt } from './cluster.js'
import { h } from './dom.js'
import { timeOf } from './view-router.js'
import { clock, counted, eventWords, resultWords, span } from './words.js'

/** @typedef {import('../../daemon/telemetry/snapshot.ts').Snapshot} Snapshot */
/** @typedef {import('./memory.js').Node} Node */
/** @typedef {import('./dom.js').Child} Child */

/** @param {string} caption @param {readonly string[]} names @param {readonly HTMLElement[]} rows */
function table(caption, names, rows) {
  const head = names.map((name) => h('th', { scope: 'col', role: 'columnheader' }, name))
  return h(
    'table',
    { role: 'table' },
    h('caption', { class: 'unseen' }, caption),
    h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, head)),
    h('tbody', { role: 'rowgroup' }, rows),
  )
}

/**
 * Makes a row. The first cell of a row is the header of the row.
 * @param {string} key
 * @param {readonly (readonly [string, Child])[]} cells
 */
function row(key, cells) {
  const [[, name] = ['', ''], ...rest] = cells
  return h(
    'tr',
    { key, role: 'row' },
    h('th', { scope: 'row', role: 'rowheader' }, name),
    rest.map(([label, value]) => h('td', { role: 'cell', 'data-label': label }, value)),
  )
}

/** @param {Snapshot} own @param {number} now */
export function checksPart({ healthchecks, hostname }, now) {
  const rows = healthchecks.map(({ kind, last, name, routers, since, target, result }) => {
    const effects = routers.map(({ adds, fault, required, router }) => {
      if (fault !== null) return `keeps ${router} out`
      if (required) return `required by ${router}`
      return adds === 0
        ? `does not change ${router} now`
        : `${adds > 0 ? 'raises' : 'lowers'} ${router} by ${Math.abs(adds)}`
    })
    const at = Date.parse(since)
    return row(name, [
      ['Check', name],
      ['Is', [h('span', { class: `check-result ${result}` }, result), ` since ${clock(at, now)}`]],
      ['Looks at', h('span', { class: 'target' }, `${kind} ${target}`)],
      ['Last', last === null ? '–' : `${resultWords(last.reason)} in ${last.latencyMs} ms`],
      ['Effect', effects.join('; ') || '–'],
    ])
  })
  return h(
    'section',
    { class: 'checks', 'aria-label': 'Health checks', key: 'checks' },
    h('h2', {}, `Health checks on ${hostname}`),
    rows.length === 0
      ? h('p', { class: 'quiet' }, `${hostname} has no health checks.`)
      : table(`Health checks of ${hostname}`, ['Check', 'Is', 'Looks at', 'Last', 'Effect'], rows),
  )
}

/** @type {Readonly<Record<Snapshot['guardian'], string>>} */
const GUARDIAN = {
  none: 'none: after a crash the addresses stay on this node',
  armed: 'acts after a crash of the engine',
  guarded: 'acts after a crash of the engine, and if it is late',
}

/** @param {Snapshot} own @param {number} now */
export function enginePart(
  { config, guardian, hostname, interfaces, logRecordsLost, pid, routers, scheduling, startedAt },
  now,
) {
  const at = Date.parse(startedAt)
  const sent = routers.reduce(
    (sum, { counters }) => sum + Object.values(counters.sent).reduce((all, one) => all + one, 0),
    0,
  )
  const received = routers.reduce((sum, { counters }) => sum + counters.received, 0)
  const discards = new Map()
  for (const { discarded } of interfaces)
    for (const [reason, count] of Object.entries(discarded)) discards.set(reason, (discards.get(reason) ?? 0) + count)
  const overflowed = interfaces.reduce((sum, one) => sum + one.overflowed, 0)
  const executions = routers.reduce((sum, { counters }) => sum + counters.cleanupPlansExecuted, 0)
  const told = [...discards].map(([reason, count]) => `${reason} ${count}`)
  /** @type {readonly (readonly [string, Child])[]} */
  const facts = [
    ['Engine', `pid ${pid}, since ${clock(at, now)} (${span(Math.max(0, now - at))})`],
    ['Guardian', GUARDIAN[guardian]],
    [
      'Cleanup plan',
      executions === 0
        ? 'never executed since the start'
        : `executed ${counted(executions, 'time')}: the engine was late`,
    ],
    [
      'Scheduling',
      scheduling === null
        ? 'not known'
        : `${scheduling.policy}${scheduling.priority > 0 ? ` ${scheduling.priority}` : ''}`,
    ],
    ['Advertisements', `${sent} sent, ${received} received`],
    ['Discarded', told.length === 0 ? 'none' : told.join(', ')],
    ['Queue overflows', overflowed === 0 ? 'none' : counted(overflowed, 'packet')],
    ['Log', logRecordsLost === 0 ? 'nothing lost' : `${counted(logRecordsLost, 'record')} lost`],
    [
      'Configuration',
      `${config.file ?? 'no file'}${config.hash === null ? '' : `, ${config.hash}`}, loaded ${clock(Date.parse(config.loadedAt), now)}`,
    ],
    ['Reloads', `${config.reloads.ok} succeeded, ${config.reloads.failed} failed`],
  ]
  return h(
    'section',
    { class: 'engine', 'aria-label': `Engine on ${hostname}`, key: 'engine' },
    h('h2', {}, `Engine on ${hostname}`),
    h(
      'dl',
      {},
      facts.map(([name, value]) => h('div', { key: name }, h('dt', {}, name), h('dd', {}, value))),
    ),
  )
}

/** @param {readonly Node[]} nodes @param {number} now */
export function nodesPart(nodes, now) {
  const rows = nodes.map(({ answeredAt, name, offsetMs, problem, roundTripMs, self, status, url }) =>
    row(name, [
      ['Node', name],
      [
        'Answers',
        problem === null
          ? self
            ? 'this node'
            : `in ${roundTripMs ?? '?'} ms`
          : `no: ${problem}${answeredAt === null ? '' : `; last at ${clock(answeredAt, now)}`}`,
      ],
      ['Since', status === null ? '–' : clock(shownAt(status.startedAt, { offsetMs }), now)],
      [
        'Clock',
        self
          ? 'reference for all times'
          : problem !== null
            ? '–'
            : offsetMs === 0
              ? 'the same'
              : `${offsetMs > 0 ? '+' : '−'}${Math.abs(offsetMs)} ms`,
      ],
      ['Address', url ?? '–'],
    ]),
  )
  return h(
    'section',
    { class: 'cluster', 'aria-label': 'Nodes', key: 'cluster' },
    h('h2', {}, 'Nodes'),
    table('Nodes that this page knows of', ['Node', 'Answers', 'Since', 'Clock', 'Address'], rows),
  )
}

const MOST_EVENTS = 20

/** @param {readonly Node[]} nodes @param {number} now */
export function eventsPart(nodes, now) {
  const nameOf = namesOf(nodes)
  const all = nodes.flatMap((node) =>
    node.events.map((event) => ({ node, event, at: Date.parse(event.at) - node.offsetMs })),
  )
  const last = all.toSorted((one, other) => other.at - one.at || other.event.seq - one.event.seq).slice(0, MOST_EVENTS)
  const rows = last.map(({ event, node }) =>
    row(`${node.key} ${event.seq}`, [
      ['Time', timeOf(event, node, now)],
      ['Node', node.name],
      [
        'What',
        `${'router' in event && event.router !== undefined ? `${event.router}: ` : ''}${eventWords(event, nameOf)}`,
      ],
    ]),
  )
  return h(
    'section',
    { class: 'events', 'aria-label': 'Last events', key: 'events' },
    h('h2', {}, 'Last events'),
    rows.length === 0
      ? h('p', { class: 'quiet' }, 'No event has been recorded.')
      : table('The last events, the newest first', ['Time', 'Node', 'What happened'], rows),
  )
}
