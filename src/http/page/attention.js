/**
 * Makes the remarks of the status page: problems and notes besides the holder of each VIP. Values only. This file
 * decides which facts get a line, and how serious they are.
 */
import { holdersOf } from './cluster.js'
import { clock, counted, listed, reasonWords, resultWords, span } from './words.js'

/** @typedef {import('../../daemon/telemetry/snapshot.ts').Snapshot} Snapshot */
/** @typedef {import('../../daemon/telemetry/snapshot.ts').RouterSnapshot} RouterSnapshot */
/** @typedef {import('./memory.js').Node} Node */
/** @typedef {import('./cluster.js').Group} Group */
/** @typedef {{ readonly tone: 'bad' | 'note', readonly words: string }} Remark */

/** Milliseconds without a report of the worker that are normal. The worker reports every check once a second. */
const SILENT = 3_000
/** Difference of two nodes' clocks in milliseconds from which their events are hard to compare. */
const CLOCK_DIFFERS = 1_000

/** @param {string} words @returns {Remark} */
const bad = (words) => ({ tone: 'bad', words })
/** @param {string} words @returns {Remark} */
const note = (words) => ({ tone: 'note', words })

/**
 * @param {Snapshot} own
 * @param {readonly Node[]} nodes
 * @param {readonly Group[]} groups
 * @param {number} now
 * @returns {readonly Remark[]}
 */
export function remarksOn(own, nodes, groups, now) {
  const remarks = [
    ...groups.flatMap(ofHolders),
    ...own.routers.flatMap((router) => ofRouter(router, now)),
    ...faultsOf(nodes),
    ...checksOf(nodes),
    ...ofEngine(own, now),
    ...nodes.flatMap((node) => ofNode(node, now)),
  ]
  return remarks.toSorted((one, other) => Number(other.tone === 'bad') - Number(one.tone === 'bad'))
}

/** @param {Group} group @returns {readonly Remark[]} */
function ofHolders(group) {
  const holders = holdersOf(group)
  if (holders.length > 1)
    return [bad(`${group.name}: ${holders.map(({ node }) => node.name).join(' and ')} hold it at the same time`)]
  return holders.flatMap(({ node, router }) =>
    router.addresses
      .filter(({ present }) => !present)
      .map(({ address }) => bad(`${group.name}: ${node.name} is ${router.state}, but ${address} is not there`)),
  )
}

/** @param {RouterSnapshot} router @param {number} now @returns {readonly Remark[]} */
function ofRouter(router, now) {
  const {
    configuredFault,
    counters,
    departing,
    duplicates,
    holding,
    name,
    restorationsPaused,
    competingAnswer: competing,
    mismatchedRouters,
    yieldingUntil,
  } = router
  return [
    ...(configuredFault === null ? [] : [note(`${name}: ${configuredFault}`)]),
    // A daemon of an earlier version does not send this field.
    ...(holding?.problem == null ? [] : [note(`${name} cannot follow its address: ${holding.problem}`)]),
    ...duplicates.map(({ address, mac, router: other }) =>
      bad(`${name}: ${mac}${other === null ? '' : ` (router ${other.address})`} also has ${address}`),
    ),
    ...(restorationsPaused === null
      ? []
      : [bad(`${name}: another program keeps removing ${restorationsPaused.address}`)]),
    ...mismatchedRouters.map(({ address, count, listenedTo, reason }) =>
      note(
        `${name}: ${address} uses the same VRID but does not match (${reason}): ${listenedTo ? 'accepted' : 'ignored'}, ${counted(count, 'packet')}`,
      ),
    ),
    ...(yieldingUntil === null ? [] : [note(`${name} yields until ${clock(Date.parse(yieldingUntil), now)}`)]),
    ...(departing ? [note(`${name} is no longer configured; it is stopping`)] : []),
    ...Object.entries(counters.sendFailures).map(([code, count]) =>
      note(`${name}: ${counted(count, 'advertisement')} could not be sent (${code}) since the start`),
    ),
    // A daemon of an earlier version does not send the competing answer.
    ...(competing == null || duplicates.some(({ mac }) => mac === competing.mac)
      ? []
      : [
          note(
            `${name}: ${competing.mac} also answers for ${competing.address}: ${counted(competing.answers, 'time')} since ${clock(now - competing.sinceMsAgo, now)}`,
          ),
        ]),
    ...(counters.cleanupPlansExecuted === 0
      ? []
      : [
          note(
            `${name}: the guardian removed the address ${counted(counters.cleanupPlansExecuted, 'time')}, because this engine was late`,
          ),
        ]),
  ]
}

/**
 * A remark and its node. Equal remarks of several nodes become one line with all names. @typedef {{ readonly node:
 * Node, readonly remark: Remark }} Said
 */

/** @param {readonly Node[]} nodes @returns {readonly Remark[]} */
const faultsOf = (nodes) =>
  together(
    nodes,
    answering(nodes).flatMap((node) =>
      (node.status?.routers ?? []).flatMap(({ faults, name }) =>
        faults.map((fault) => ({ node, remark: bad(`${name} takes no part{}: ${reasonWords(fault)}`) })),
      ),
    ),
  )

/** @param {readonly Node[]} nodes @returns {readonly Remark[]} */
const checksOf = (nodes) =>
  together(
    nodes,
    answering(nodes).flatMap((node) =>
      (node.status?.healthchecks ?? []).flatMap((check) => ofCheck(check).map((remark) => ({ node, remark }))),
    ),
  )

/** Nodes that answer. The last status of a silent node is not current. @param {readonly Node[]} nodes */
const answering = (nodes) => nodes.filter(({ problem }) => problem === null)

/**
 * Joins equal remarks. The names of the nodes replace {} in the text; a page that knows one node names none.
 * @param {readonly Node[]} nodes
 * @param {readonly Said[]} said
 * @returns {readonly Remark[]}
 */
function together(nodes, said) {
  /** @type {Map<string, Said[]>} */
  const alike = new Map()
  for (const each of said) alike.set(each.remark.words, [...(alike.get(each.remark.words) ?? []), each])
  return [...alike].flatMap(([words, [first, ...more]]) => {
    if (first === undefined) return []
    const where = nodes.length === 1 ? '' : ` on ${listed([first, ...more].map(({ node }) => node.name))}`
    return [{ tone: first.remark.tone, words: words.replace('{}', where) }]
  })
}

/** @param {import('../peers/peer-status.ts').PeerCheck} check @returns {readonly Remark[]} */
function ofCheck({ heardMsAgo, last, name, result }) {
  const found = last === null || last.ok ? '' : ` (${resultWords(last.reason)})`
  if (heardMsAgo !== null && heardMsAgo > SILENT)
    return [bad(`Check ${name} has had no result{} for ${span(heardMsAgo)}`)]
  if (result === 'down') return [bad(`Check ${name} is down{}${found}`)]
  return result === 'up' ? [] : [note(`Check ${name} is ${result}{}${found}`)]
}

/** @param {Snapshot} own @param {number} now @returns {readonly Remark[]} */
function ofEngine({ config, controlRefused, guardian, journal, keepalivedBeside, logRecordsLost, scheduling }, now) {
  const { lastReload, managed, stoppedAt } = config
  const isRealtime = scheduling?.policy === 'SCHED_RR' || scheduling?.policy === 'SCHED_FIFO'
  return [
    ...(guardian === 'none' ? [bad('No guardian: after a crash the addresses stay on this node')] : []),
    ...(guardian === 'armed'
      ? [note('The guardian acts only after a crash: a frozen engine keeps its addresses')]
      : []),
    ...(scheduling?.realtimeAsked === true && !isRealtime
      ? [bad('The engine runs without the requested real-time priority')]
      : []),
    ...(stoppedAt === null
      ? []
      : [bad(`Stopped since ${clock(Date.parse(stoppedAt), now)}: no router runs until a reload`)]),
    // A daemon of an earlier version does not have these fields.
    ...(managed?.waits == null ? [] : [bad(`${managed.waits}: idle until a configuration is handed over`)]),
    ...(managed?.notKept == null ? [] : [bad(`The configuration in force is not stored: ${managed.notKept}`)]),
    ...(lastReload?.ok === false
      ? [
          bad(
            `The reload at ${clock(Date.parse(lastReload.at), now)} failed, the configuration in force was kept: ${lastReload.reason ?? ''}`,
          ),
        ]
      : []),
    ...keepalivedBeside.map(({ pid }) => note(`keepalived (pid ${pid}) also speaks VRRP on this node`)),
    ...(logRecordsLost === 0 ? [] : [note(`${counted(logRecordsLost, 'log record')} lost: the reader was too slow`)]),
    // A daemon of an earlier version does not have this field.
    ...(journal?.problem == null
      ? []
      : [note(`The event journal cannot be written to ${journal.file}: ${journal.problem}`)]),
    ...(controlRefused === 0 ? [] : [note(`${counted(controlRefused, 'connection')} refused at the control socket`)]),
  ]
}

/** @param {Node} node @param {number} now @returns {readonly Remark[]} */
function ofNode({ answeredAt, name, offsetMs, problem, self }, now) {
  if (self) return []
  const since =
    answeredAt === null ? 'has not answered this page yet' : `has not answered since ${clock(answeredAt, now)}`
  if (problem !== null) return [bad(`${name} ${since}: ${problem}`)]
  if (Math.abs(offsetMs) < CLOCK_DIFFERS) return []
  return [
    note(`The clock of ${name} is ${Math.abs(offsetMs / 1_000).toFixed(1)} s ${offsetMs > 0 ? 'ahead' : 'behind'}`),
  ]
}
