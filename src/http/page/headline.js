/**
 * Makes the sentence about a virtual router: which node holds an address, since when and why, and which node is next.
 * This file decides that a node's own status counts before that of others, unless they have heard the node later. This
 * file does not know the layout.
 */
import { becauseOf, failedChecksOf, followersOf, holdersOf, isHolding, namesOf, shownAt, toldAt } from './cluster.js'
import { clock, listed, span } from './words.js'

/** @typedef {import('./cluster.js').Group} Group */
/** @typedef {import('./cluster.js').Member} Member */
/** @typedef {import('./memory.js').Node} Node */

/**
 * The sentence about a virtual router in parts. `who` and `what` are emphasized.
 * @typedef {{ readonly tone: 'good' | 'note' | 'bad', readonly who: string, readonly verb: string, readonly what: string,
 *   readonly rest: string, readonly next: string }} Headline
 */

/**
 * @param {Group} group
 * @param {readonly Node[]} nodes
 * @param {number} now
 * @param {boolean} knowsPeers
 * @returns {Headline}
 */
export function headlineOf(group, nodes, now, knowsPeers) {
  const nameOf = namesOf(nodes)
  const what = addressWords(group.addresses)
  const holders = holdersOf(group)
  const [holder, ...others] = holders
  if (holder !== undefined && others.length === 0) {
    const { node, router } = holder
    const at = shownAt(router.since, node)
    const failed = failureWords(holder, group)
    const because = becauseOf(holder, group, nameOf)
    const rest = `since ${clock(at, now)} (${span(Math.max(0, now - at))}), because ${because}.${failed}`
    const leaving = router.state === 'Leaving'
    const next = nextWords(group, nodes, knowsPeers)
    const tone = failed !== '' ? 'bad' : leaving || next.alone || group.members.some(isImpaired) ? 'note' : 'good'
    return {
      tone,
      who: node.name,
      verb: leaving ? 'leaves and still holds' : 'holds',
      what,
      rest,
      next: next.words,
    }
  }
  if (holder !== undefined) {
    const who = listed(holders.map(({ node }) => node.name))
    const rest =
      'and clients reach any of them. They do not receive each other’s advertisements (firewall? switch?), or a failover is in progress.'
    return {
      tone: 'bad',
      who,
      verb: others.length === 1 ? 'both hold' : 'all hold',
      what,
      rest,
      next: '',
    }
  }
  return withoutHolder(group, nodes, what, now, knowsPeers)
}

/** Returns whether a node answers but has a fault or a failed check. @param {Member} member */
const isImpaired = (member) =>
  member.node.problem === null && (member.router.faults.length > 0 || failedChecksOf(member).length > 0)

/**
 * Returns sentences about the effect of a holder's failed checks. Empty if none has failed.
 * @param {Member} holder
 * @param {Group} group
 */
function failureWords(holder, group) {
  const failed = failedChecksOf(holder)
  if (failed.length === 0) return ''
  const others = group.members.filter(({ node }) => node !== holder.node && node.problem === null)
  const better = others.filter((other) => failed.some((name) => !failedChecksOf(other).includes(name)))
  const checks = `${failed.length === 1 ? 'check' : 'checks'} ${listed(failed)} ${failed.length === 1 ? 'is' : 'are'} down`
  const elsewhere =
    others.length === 0
      ? ''
      : better.length === 0
        ? ', and on every other node as well'
        : `, but not on ${listed(better.map(({ node }) => node.name))}`
  return ` The service does not work there: ${checks}${elsewhere}.`
}

/**
 * @param {Group} group
 * @param {readonly Node[]} nodes
 * @param {string} what
 * @param {number} now
 * @param {boolean} knowsPeers
 * @returns {Headline}
 */
function withoutHolder(group, nodes, what, now, knowsPeers) {
  const nameOf = namesOf(nodes)
  const answering = group.members.filter(({ node }) => node.problem === null)
  const follower = answering.find(
    (member) =>
      member.router.state === 'Backup' && member.router.holder.address !== null && !isDenied(member, answering),
  )
  if (follower?.router.holder.address != null) {
    const { node, router } = follower
    const { address, priority } = router.holder
    const at = shownAt(router.since, node)
    const rest = `according to ${node.name} (priority ${priority}). ${node.name} is Backup since ${clock(at, now)}, because ${becauseOf(follower, group, nameOf)}.`
    const next = nextWords(group, nodes, knowsPeers)
    return {
      tone: 'good',
      who: nameOf(address ?? ''),
      verb: 'holds',
      what,
      rest,
      next: next.words,
    }
  }
  const why = answering.map((member) => `${member.node.name} does not: ${becauseOf(member, group, nameOf)}.`)
  const who = nodes.length > 1 ? 'No node that answers' : 'No node'
  const rest = nodes.length > 1 ? why.join(' ') : `as far as this node knows. ${why.join(' ')}`
  return { tone: 'bad', who, verb: 'holds', what, rest, next: '' }
}

/**
 * Returns whether the Active that this Backup follows has reported later that it is not the holder.
 * @param {Member} follower
 * @param {readonly Member[]} answering
 */
function isDenied({ node, router }, answering) {
  const { address, heardMsAgo } = router.holder
  const heardAt = toldAt(node) - (heardMsAgo ?? 0)
  return answering.some((other) => other.router.source === address && toldAt(other.node) > heardAt)
}

/** @param {readonly string[]} addresses */
function addressWords(addresses) {
  const [first = 'no address', ...more] = addresses
  if (more.length === 0) return first
  return more.length === 1 ? `${first} and ${more[0]}` : `${first} and ${more.length} more`
}

/**
 * @param {Group} group
 * @param {readonly Node[]} nodes
 * @param {boolean} knowsPeers
 * @returns {{ readonly words: string, readonly alone: boolean }}
 */
function nextWords(group, nodes, knowsPeers) {
  if (nodes.length === 1)
    return {
      words: knowsPeers ? 'The next in line is unknown: list the other nodes under api.peers.' : '',
      alone: false,
    }
  const [first, ...then] = followersOf(group)
  if (first !== undefined) {
    const named = [first, ...then].map(({ node, router }) => `${node.name} (priority ${router.priority.effective})`)
    return { words: `Next in line: ${named.join(', then ')}.`, alone: false }
  }
  // At this moment the former Active may not have reported its new state yet.
  const isUnsure = group.members.filter((member) => member.node.problem === null && isHolding(member)).length > 1
  return isUnsure ? { words: '', alone: false } : { words: 'No other node is ready to take over.', alone: true }
}
