/**
 * A virtual router on the page: its nodes as a table, their states over time, and the events that led to the present
 * state. This file decides the columns. This file does not know where values come from.
 */
import { becauseOf, holdersOf, namesOf, shownAt, storyOf } from './cluster.js'
import { h } from './dom.js'
import { scaleOf } from './priority.js'
import { priorityBar, sumOf, withoutOf } from './view-priority.js'
import { timelineOf } from './view-timeline.js'
import { clock, eventWords, reasonWords, span } from './words.js'

/** @typedef {import('./cluster.js').Group} Group */
/** @typedef {import('./memory.js').Node} Node */
/** @typedef {{ readonly nodes: readonly Node[], readonly now: number, readonly window: string, readonly open: boolean, readonly names: boolean }} Around */

/** @param {Group} group @param {Around} around */
export function routerPart(group, { names, nodes, now, open, window }) {
  const first = group.members[0]?.router
  const facts = [
    `VRID ${group.vrid}`,
    group.family === 'ipv6' ? 'IPv6' : 'IPv4',
    first?.interface ?? 'no interface',
    first?.group == null ? '' : `sync group ${first.group}`,
  ]
  return h(
    'section',
    { class: 'router', key: `router ${group.id}`, 'aria-label': `Virtual router ${group.name}` },
    h(
      'details',
      { open, 'data-router': group.id },
      h(
        'summary',
        {},
        h('h2', {}, group.name),
        ' ',
        h('span', { class: 'facts' }, [...facts.filter((fact) => fact !== ''), group.addresses.join(', ')].join(' · ')),
      ),
      (open || !names) && [nodesTable(group, nodes, now), timelineOf(group, now, window), storyPart(group, nodes, now)],
    ),
  )
}

/** @type {Readonly<Record<string, string>>} */
const MARKS = { Active: '●', Backup: '○', Leaving: '◐', Returning: '◌', Initialize: '×' }

/** @param {Group} group @param {readonly Node[]} nodes @param {number} now */
function nodesTable(group, nodes, now) {
  const nameOf = namesOf(nodes)
  const scale = scaleOf(group)
  const head = ['Node', 'State', 'Priority', 'Since', 'Because'].map((name) =>
    h('th', { scope: 'col', role: 'columnheader' }, name),
  )
  const rows = group.members.map((member) => {
    const { node, router } = member
    const at = shownAt(router.since, node)
    const silent = node.problem !== null && !node.self
    const faults =
      router.faults.length === 0 ? becauseOf(member, group, nameOf) : router.faults.map(reasonWords).join('; ')
    const { address } = router.holder
    const follows = router.state === 'Backup' && (address === null ? 'hears no Active' : `follows ${nameOf(address)}`)
    return h(
      'tr',
      { key: node.key, role: 'row', class: silent ? 'unheard' : undefined, 'data-node': node.name },
      h('th', { scope: 'row', role: 'rowheader' }, node.name, node.self && h('span', { class: 'facts' }, ' this node')),
      cell(
        'State',
        'state',
        h('span', { class: `mark ${router.state}`, 'aria-hidden': 'true' }, MARKS[router.state] ?? '?'),
        ' ',
        router.state,
        silent && ' (last heard)',
      ),
      cell('Priority', 'priority', priorityBar(router, scale), sumOf(router), withoutOf(member, group)),
      cell(
        'Since',
        'since',
        h('time', { datetime: router.since }, clock(at, now)),
        ' ',
        h('span', { class: 'facts' }, span(Math.max(0, now - at))),
      ),
      cell('Because', 'because', faults, follows && h('span', { class: 'facts' }, `; ${follows}`)),
    )
  })
  return h(
    'table',
    { class: 'nodes', role: 'table', key: 'nodes' },
    h('caption', { class: 'unseen' }, `Nodes of ${group.name}`),
    h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, head)),
    h('tbody', { role: 'rowgroup' }, rows),
  )
}

/** @param {string} label @param {string} name @param {...import('./dom.js').Child} children */
const cell = (label, name, ...children) => h('td', { role: 'cell', class: name, 'data-label': label }, ...children)

/** @param {Group} group @param {readonly Node[]} nodes @param {number} now */
function storyPart(group, nodes, now) {
  const nameOf = namesOf(nodes)
  const [holder] = holdersOf(group)
  const story = holder === undefined ? [] : storyOf(holder, group)
  if (story.length < 2) return null
  const lines = story.map(({ event, node }) =>
    h(
      'li',
      { key: `${node.key} ${event.seq}` },
      timeOf(event, node, now),
      ' ',
      h('b', {}, node.name),
      ` ${eventWords(event, nameOf)}`,
    ),
  )
  return h('div', { class: 'story', key: 'story' }, h('h3', {}, 'Events that led to this'), h('ol', {}, lines))
}

/** @param {import('../../events/event.ts').JournalEvent} event @param {Node} node @param {number} now */
export function timeOf(event, node, now) {
  return h('time', { datetime: event.at }, clock(Date.parse(event.at) - node.offsetMs, now, true))
}
