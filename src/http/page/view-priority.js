/**
 * Priorities on the page: a bar for each node, its sum as text, and the priority without each part. This file decides
 * that a check has the same colour on every node. This file does not know what a priority leads to.
 */
import { h } from './dom.js'
import { layersOf, withoutEach } from './priority.js'

/** @typedef {import('./cluster.js').Group} Group */
/** @typedef {import('./cluster.js').Member} Member */
/** @typedef {import('../peers/peer-status.ts').PeerRouter} Router */

/** Limit of colours that a person can distinguish in a bar. */
const MOST_COLOURS = 4

/** Returns the class of a part's colour, the same on each node. @param {Router} router @param {string} name */
const colourOf = ({ tracking }, name) =>
  name === 'base' ? 'part0' : `part${1 + (tracking.parts.findIndex((part) => part.name === name) % MOST_COLOURS)}`

/** @param {Router} router @param {number} scale */
export function priorityBar(router, scale) {
  const share = (/** @type {number} */ value) => `${((100 * Math.max(0, value)) / scale).toFixed(2)}%`
  const layers = layersOf(router).map(({ adds, from, name, to }) =>
    h('span', {
      class: `layer ${adds < 0 ? 'taken' : colourOf(router, name)}`,
      title: `${name} ${adds < 0 ? '−' : '+'}${Math.abs(adds)}`,
      style: { left: share(from), width: share(to - from) },
    }),
  )
  const { effective } = router.priority
  const inForce = h('span', { class: 'inforce', style: { left: share(effective) } })
  return h('span', { class: 'bar', 'aria-hidden': 'true' }, layers, inForce)
}

/** Returns the sum such as "140 = 40 base + 50 api + 50 lb", with the colours of the bar. @param {Router} router */
export function sumOf(router) {
  const { priority, tracking, yieldingUntil } = router
  const { base, effective } = priority
  const { parts, sum } = tracking
  const term = (/** @type {string} */ name, /** @type {number} */ adds, /** @type {string} */ sign) => [
    sign,
    h('span', { class: `dot ${adds < 0 ? 'taken' : colourOf(router, name)}`, 'aria-hidden': 'true' }),
    `${Math.abs(adds)} ${name}`,
  ]
  const terms = [term('base', base, ''), parts.map(({ adds, name }) => term(name, adds, adds < 0 ? ' − ' : ' + '))]
  const inForce = h('b', {}, effective)
  if (yieldingUntil !== null)
    return h('span', { class: 'sum' }, inForce, ` while it yields; otherwise ${sum} = `, terms)
  if (effective !== sum) return h('span', { class: 'sum' }, inForce, `, kept between 1 and 254: ${sum} = `, terms)
  return h('span', { class: 'sum' }, inForce, parts.length > 0 && [' = ', terms])
}

/** @param {Member} member @param {Group} group */
export function withoutOf(member, group) {
  const lines = withoutEach(member, group).map(({ adds, consequence, name, without }) =>
    h(
      'li',
      { key: name },
      adds === 0
        ? `${name} changes nothing now`
        : `${adds > 0 ? `if ${name} fails` : `with ${name} up again`}: ${without}`,
      consequence !== '' && `; ${consequence}`,
    ),
  )
  return lines.length > 0 && h('ul', { class: 'without' }, lines)
}
