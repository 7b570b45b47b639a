/**
 * The sentence: who holds an address, since when, because of what, and who would be next. Decided here: a node is believed
 * about itself before others are about it, unless they have heard it since. Refuses to know how it is drawn.
 */
import { becauseOf, failedChecksOf, followersOf, holdersOf, isHolding, namesOf, shownAt, toldAt } from './cluster.js'
import { clock, listed, span } from './words.js'

/** @typedef {import('./cluster.js').Group} Group */
/** @typedef {import('./cluster.js').Member} Member */
/** @typedef {import('./memory.js').Node} Node */

/**
 * The first thing that is said of a virtual router. `who` and `what` are the important words in it.
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

/** A node that answers and would be a worse holder than it is meant to be. @param {Member} member */
const isImpaired = (member) =>
  member.node.problem === null && (member.router.faults.length > 0 || failedChecksOf(member).length > 0)

/**
 * What a holder's failed checks mean for its clients, as further sentences; empty: none has failed.
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
    const rest = `as ${node.name} hears it (priority ${priority}). ${node.name} is Backup since ${clock(at, now)}, because ${becauseOf(follower, group, nameOf)}.`
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
  const who = nodes.length > 1 ? 'No node that answers' : 'Nobody'
  const rest = nodes.length > 1 ? why.join(' ') : `as far as this node knows. ${why.join(' ')}`
  return { tone: 'bad', who, verb: 'holds', what, rest, next: '' }
}

/**
 * Whom it follows has said since that it does not hold it.
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
      words: knowsPeers ? 'Who would be next is not known here: api.peers names the other nodes.' : '',
      alone: false,
    }
  const [first, ...then] = followersOf(group)
  if (first !== undefined) {
    const named = [first, ...then].map(({ node, router }) => `${node.name} (priority ${router.priority.effective})`)
    return { words: `Next in line: ${named.join(', then ')}.`, alone: false }
  }
  // One that was Active until then has not said yet what it is now.
  const isUnsure = group.members.filter((member) => member.node.problem === null && isHolding(member)).length > 1
  return isUnsure ? { words: '', alone: false } : { words: 'No other node is ready to take over.', alone: true }
}
