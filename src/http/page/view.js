/**
 * The whole page: its parts and their order. This file decides that the page begins with a sentence for each VIP, and a
 * lost connection is shown before anything else. This file does not know how nodes are asked.
 */
import { remarksOn } from './attention.js'
import { groupsOf } from './cluster.js'
import { h } from './dom.js'
import { headlineOf } from './headline.js'
import { checksPart, enginePart, eventsPart, nodesPart } from './view-node.js'
import { routerPart } from './view-router.js'
import { clock, span, zone } from './words.js'

/** @typedef {import('./memory.js').Memory} Memory */
/** @typedef {import('./connection.js').Line} Line */
/** @typedef {import('./headline.js').Headline} Headline */
/**
 * Choices of a person. @typedef {{ readonly window: string, readonly closed: ReadonlySet<string>, readonly opened:
 * ReadonlySet<string> }} Chosen
 */

/** Number of virtual routers up to which all are shown open at first. */
const MOST_OPEN = 4

/**
 * @param {Memory} memory
 * @param {Line} line
 * @param {Chosen} chosen
 * @param {number} browserNow
 * @returns {HTMLElement}
 */
export function view(memory, line, chosen, browserNow) {
  const now = browserNow + memory.skew
  const { nodes, own } = memory
  if (own === null)
    return h(
      'main',
      { id: 'page' },
      bannerOf(line, 'this node', now, memory.skew) ?? h('p', { class: 'waiting' }, 'Connecting to this node …'),
    )
  const isStale = line.state === 'lost' || line.state === 'silent'
  // Without a connection the page shows the last known state as old. Only the time line continues.
  const then = isStale ? line.since + memory.skew : now
  const known = isStale ? nodes.map((node) => (node.self ? { ...node, problem: null } : node)) : nodes
  const told = groupsOf(known).map((group) => headlineOf(group, known, then, memory.knowsPeers))
  const groups = groupsOf(nodes)
  const isOpen = (/** @type {string} */ id) =>
    groups.length <= MOST_OPEN ? !chosen.closed.has(id) : chosen.opened.has(id)
  return h(
    'main',
    { id: 'page', class: isStale ? 'stale' : undefined },
    bannerOf(line, own.hostname, now, memory.skew),
    headlinesOf(told, isStale),
    attentionOf(remarksOn(own, known, groupsOf(known), then)),
    groups.map((group) =>
      routerPart(group, { nodes, now, window: chosen.window, open: isOpen(group.id), names: groups.length > 1 }),
    ),
    eventsPart(nodes, now),
    checksPart(own, now),
    enginePart(own, now),
    nodes.length > 1 && nodesPart(nodes, now),
    h(
      'footer',
      { key: 'footer' },
      `Times are those of ${own.hostname}’s clock, ${zone(now)}. Read-only; the same facts are in `,
      h('a', { href: '/v1/status' }, '/v1/status'),
      ', ',
      h('a', { href: '/v1/events' }, '/v1/events'),
      ' and ',
      h('a', { href: '/metrics' }, '/metrics'),
      '.',
    ),
  )
}

/** @param {Line} line @param {string} name @param {number} now @param {number} skew */
function bannerOf({ since, state, why }, name, now, skew) {
  if (state === 'connecting' || state === 'connected') return null
  const at = since + skew
  const words =
    state === 'lost'
      ? `No connection to ${name} since ${clock(at, now)}`
      : `The engine on ${name} has not answered since ${clock(at, now)}`
  return h(
    'section',
    { class: 'banner', key: 'banner', 'aria-label': 'Connection' },
    h('strong', {}, `${words} (${span(Math.max(0, now - at))}).`),
    ` Everything below is from that time and may be outdated. The page tries again every few seconds; the last error: ${why}.`,
  )
}

/** @param {readonly Headline[]} told @param {boolean} past */
function headlinesOf(told, past) {
  if (told.length === 0)
    return h('p', { class: 'headline', key: 'headline' }, 'No virtual router is configured on this node.')
  return h(
    'div',
    { class: told.length > 2 ? 'headlines many' : 'headlines', key: 'headline' },
    told.map((headline, i) => headlineElement(headline, i, past)),
  )
}

/** @param {Headline} headline @param {number} i @param {boolean} past */
function headlineElement({ next, rest, tone, verb, what, who }, i, past) {
  return h(
    'div',
    { class: `told ${tone}`, key: `told ${i}` },
    h(
      i === 0 ? 'h1' : 'h2',
      { class: 'headline' },
      h('b', { class: 'who' }, who),
      ` ${past ? verb.replace('leaves', 'was leaving').replace(/holds?/, 'held') : verb} `,
      h('b', { class: 'what' }, what),
      ' ',
      h('span', { class: 'rest' }, rest),
    ),
    next !== '' && h('p', { class: 'next' }, next),
  )
}

/** @param {readonly import('./attention.js').Remark[]} remarks */
function attentionOf(remarks) {
  const quiet = h('p', { class: 'quiet' }, 'Nothing else needs attention.')
  const lines = remarks.map(({ tone, words }) =>
    h(
      'li',
      { class: tone, key: words },
      h('span', { class: 'tag' }, tone === 'bad' ? 'Problem' : 'Note'),
      ' ',
      words,
      '.',
    ),
  )
  return h(
    'section',
    { class: 'attention', key: 'attention', 'aria-label': 'Attention' },
    remarks.length === 0 ? quiet : h('ul', {}, lines),
  )
}

/**
 * Returns the text that a screen reader reads when the page changes.
 * @param {Memory} memory
 * @param {Line} line
 * @param {number} browserNow
 */
export function spoken(memory, line, browserNow) {
  const now = browserNow + memory.skew
  const name = memory.own?.hostname ?? 'this node'
  if (line.state === 'lost') return `No connection to ${name} since ${clock(line.since + memory.skew, now)}.`
  if (line.state === 'silent')
    return `The engine on ${name} does not answer since ${clock(line.since + memory.skew, now)}.`
  return groupsOf(memory.nodes)
    .map((group) => headlineOf(group, memory.nodes, now, memory.knowsPeers))
    .map(({ verb, what, who }) => `${who} ${verb} ${what}.`)
    .join(' ')
}
