/**
 * Computes the contributions to an effective priority, and the priority without each of them. Values only. This file
 * decides that the only consequence that the page mentions is a move of the addresses.
 */
import { followersOf, isHolding } from './cluster.js'

/** @typedef {import('./cluster.js').Group} Group */
/** @typedef {import('./cluster.js').Member} Member */
/** @typedef {import('../peers/peer-status.ts').PeerRouter} Router */

/**
 * Part of a priority bar. `from` and `to` are priorities.
 * @typedef {{ readonly name: string, readonly adds: number, readonly from: number, readonly to: number }} Layer
 */

/** @param {number} sum */
const clamped = (sum) => Math.min(254, Math.max(1, sum))

/**
 * Returns the parts of the bar: the base first, each part above the one before. Negative parts go down.
 * @param {Router} router
 * @returns {readonly Layer[]}
 */
export function layersOf({ priority, tracking }) {
  const { base } = priority
  /** @type {Layer[]} */
  const layers = [{ name: 'base', adds: base, from: 0, to: base }]
  let height = base
  for (const { adds, name } of tracking.parts.toSorted((one, other) => other.adds - one.adds)) {
    const next = height + adds
    layers.push({ name, adds, from: Math.min(height, next), to: Math.max(height, next) })
    height = next
  }
  return layers
}

/**
 * Returns the end of the scale: the highest part of all bars, rounded up, so that bars of one virtual router can be
 * compared.
 * @param {Group} group
 */
export function scaleOf({ members }) {
  const tops = members.flatMap(({ router }) => layersOf(router).map(({ to }) => to))
  return Math.max(50, Math.ceil(Math.max(...tops) / 50) * 50)
}

/**
 * Returns the effect of each part, and the priority without it.
 * @param {Member} member
 * @param {Group} group
 * @returns {readonly { readonly name: string, readonly kind: string, readonly adds: number, readonly without: number, readonly consequence: string }[]}
 */
export function withoutEach(member, group) {
  const { parts, sum } = member.router.tracking
  return parts.map(({ adds, kind, name }) => {
    const without = clamped(sum - adds)
    return { name, kind, adds, without, consequence: adds === 0 ? '' : consequenceOf(member, without, group) }
  })
}

/** @param {Member} member @param {number} priority @param {Group} group */
function consequenceOf(member, priority, group) {
  // The state of a node that does not answer is not known.
  if (member.node.problem !== null) return ''
  if (isHolding(member)) {
    const successor = followersOf(group).find(({ node }) => node !== member.node)
    if (successor === undefined) return ''
    const other = successor.router.priority.effective
    return priority < other
      ? `${successor.node.name} (${other}) would take over`
      : `the address stays, ${successor.node.name} has ${other}`
  }
  const holder = group.members.find(isHolding)
  if (holder === undefined || member.router.state !== 'Backup') return ''
  const other = holder.router.priority.effective
  return priority > other ? `more than ${holder.node.name}, which holds it with ${other}` : ''
}
