/**
 * Combines the status of all nodes: which virtual routers are the same, which node holds the addresses, which node is
 * next, and what led to it. Values only. This file decides which status is too old to count. The text is made
 * elsewhere.
 */
import { demotionWords, reasonWords, transitionWords } from './words.js'

/** @typedef {import('../../events/event.ts').JournalEvent} JournalEvent */
/** @typedef {Extract<JournalEvent, { kind: 'transition' }>} TransitionEvent */
/** @typedef {import('../peers/peer-status.ts').PeerStatus} NodeStatus */
/** @typedef {import('../peers/peer-status.ts').PeerRouter} Router */
/** @typedef {import('./memory.js').Node} Node */

/** @typedef {import('../peers/peer-status.ts').PeerCheck} Check */
/** @typedef {{ readonly node: Node, readonly router: Router }} Member */
/**
 * A virtual router on all its nodes. `id` is the same on each of them.
 * @typedef {{ readonly id: string, readonly name: string, readonly vrid: number, readonly family: string,
 *   readonly addresses: readonly string[], readonly members: readonly Member[] }} Group
 */

/**
 * Groups the routers of all nodes. Names may differ from node to node; VRID, family and addresses are common.
 * @param {readonly Node[]} nodes
 * @returns {readonly Group[]}
 */
export function groupsOf(nodes) {
  /** @type {Group[]} */
  const groups = []
  for (const node of nodes) {
    for (const router of node.status?.routers ?? []) {
      const addresses = router.addresses.map(({ address }) => address)
      const at = groups.findIndex((group) => isOf(group, router, addresses))
      const group = groups[at]
      const member = { node, router }
      if (group !== undefined) groups[at] = { ...group, members: [...group.members, member] }
      else {
        const { family, name, vrid } = router
        groups.push({ id: `${family} ${vrid} ${addresses[0] ?? ''}`, name, vrid, family, addresses, members: [member] })
      }
    }
  }
  return groups
}

/** @param {Group} group @param {Router} router @param {readonly string[]} addresses */
const isOf = (group, router, addresses) =>
  group.vrid === router.vrid &&
  group.family === router.family &&
  addresses.some((address) => group.addresses.includes(address))

/** @param {Member} member */
export const isHolding = ({ router }) => router.state === 'Active' || (router.state === 'Leaving' && router.holder.self)

/** Returns the time of a node's status, by the clock of the node that serves the page. @param {Node} node */
export const toldAt = ({ offsetMs, status }) => (status === null ? 0 : Date.parse(status.takenAt) - offsetMs)

/** Difference of two clocks in milliseconds below which it may be an error of the measurement. */
const CLOCK_DIFFERS = 1_000

/**
 * Returns the time to show for a time of a node. The returned time is the second that the node's own `holdfast status`
 * shows, unless the clocks differ by a second or more.
 * @param {string} at
 * @param {Pick<Node, 'offsetMs'>} node
 */
export const shownAt = (at, { offsetMs }) => Date.parse(at) - (Math.abs(offsetMs) < CLOCK_DIFFERS ? 0 : offsetMs)

/** @param {Member} member */
export const sinceOf = ({ node, router }) => Date.parse(router.since) - node.offsetMs

/**
 * Returns the holders among the nodes that answer. Nodes are asked one after the other. A status from before another
 * node took over does not count.
 * @param {Group} group
 */
export function holdersOf(group) {
  const holding = group.members.filter((member) => member.node.problem === null && isHolding(member))
  return holding.filter(({ node }) => !holding.some((other) => other.node !== node && sinceOf(other) > toldAt(node)))
}

/**
 * Returns the Backups, the next Active first.
 * @param {Group} group
 */
export const followersOf = (group) =>
  group.members
    .filter(({ node, router }) => node.problem === null && router.state === 'Backup')
    .toSorted((one, other) => other.router.priority.effective - one.router.priority.effective)

/**
 * Returns the names of the health checks that a router tracks and that are down on its node.
 * @param {Member} member
 * @returns {readonly string[]}
 */
export const failedChecksOf = ({ node, router }) =>
  (node.status?.healthchecks ?? [])
    .filter(({ routers, result }) => result === 'down' && routers.some((each) => each.router === router.name))
    .map(({ name }) => name)

/**
 * Returns a function that gives the name of the node with an address.
 * @param {readonly Node[]} nodes
 * @returns {(address: string) => string}
 */
export function namesOf(nodes) {
  const names = new Map(
    nodes.flatMap(({ name, status }) =>
      (status?.routers ?? []).flatMap(({ source }) => (source === null ? [] : [[source, name]])),
    ),
  )
  return (address) => names.get(address) ?? address
}

/** Tolerance in milliseconds within which a time in a journal and a time in a status are the same moment. */
const SAME_MOMENT = 100

/**
 * Returns the transition to the present state of a router, if its node's journal has it.
 * @param {Member} member
 * @returns {TransitionEvent | undefined}
 */
export function lastTransition({ node, router }) {
  const since = Date.parse(router.since)
  for (const event of node.events.toReversed()) {
    if (event.kind === 'transition' && event.router === router.name && event.to === router.state)
      return Math.abs(Date.parse(event.at) - since) < SAME_MOMENT ? event : undefined
  }
  return undefined
}

/**
 * Returns why a router is in its state, as a text after "because". A cause on another node is named instead of its
 * effect here.
 * @param {Member} member
 * @param {Group} group
 * @param {(address: string) => string} nameOf
 */
export function becauseOf(member, group, nameOf) {
  const event = lastTransition(member)
  if (event === undefined) return reasonWords(member.router.reason)
  const story = storyOf(member, group)
  const lowered = story.findLast((link) => link.node !== member.node && link.event.kind === 'priorityChanged')
  if (lowered === undefined) return transitionWords(event, nameOf)
  const cause = story.find(({ event: { seq }, node }) => node === lowered.node && seq === lowered.event.because)
  return demotionWords(lowered.event, cause?.event, lowered.node.name)
}

/** Limit of causes that the page shows for one state. */
const LONGEST_CHAIN = 8
/** Milliseconds from an action of one node until another node has heard it. Half of it is a tolerance for clocks. */
const ON_THE_WAY = 200

/** @typedef {{ readonly node: Node, readonly event: JournalEvent }} Link */

/**
 * Returns the events that led to a router's state, the first cause first, its own transition last. If another node
 * lowered its priority, the causes in that node's journal are included. Empty if no journal has them.
 * @param {Member} member
 * @param {Group} group
 * @returns {readonly Link[]}
 */
export function storyOf(member, group) {
  const last = lastTransition(member)
  if (last === undefined) return []
  const own = chainOf(member.node, last)
  const [first] = own
  return first === undefined ? own : [...theirs(first, group), ...own].slice(-LONGEST_CHAIN)
}

/**
 * @param {Link} heard
 * @param {Group} group
 * @returns {readonly Link[]}
 */
function theirs({ event, node }, group) {
  if (event.kind !== 'peerHeard' || event.news !== 'lowered') return []
  // Another member of the sync group, in the other address family, may have received the cause.
  const routers = group.members.flatMap((member) =>
    (member.node.status?.routers ?? []).map((router) => ({ node: member.node, router })),
  )
  const peer = routers.find(({ router }) => router.source === event.peer)
  if (peer === undefined) return []
  const heardAt = Date.parse(event.at) - node.offsetMs
  const isIt = (/** @type {JournalEvent} */ each) => {
    const early = heardAt - (Date.parse(each.at) - peer.node.offsetMs)
    const isOf = each.kind === 'priorityChanged' && each.router === peer.router.name && each.to === event.priority
    return isOf && early > -ON_THE_WAY / 2 && early < ON_THE_WAY
  }
  const cause = peer.node.events.findLast(isIt)
  return cause === undefined ? [] : chainOf(peer.node, cause)
}

/**
 * @param {Node} node
 * @param {JournalEvent} event
 * @returns {readonly Link[]}
 */
function chainOf(node, event) {
  /** @type {Link[]} */
  const chain = [{ node, event }]
  for (let cause = event.because; cause !== undefined && chain.length < LONGEST_CHAIN; ) {
    const number = cause
    const found = node.events.find(({ seq }) => seq === number)
    if (found === undefined || chain.some((link) => link.event === found)) break
    chain.unshift({ node, event: found })
    cause = found.because
  }
  return chain
}
