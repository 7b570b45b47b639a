/**
 * Prints a virtual router in `holdfast status`, below the sentence about its VIP. This file decides only the text, and
 * that a fault which follows from another one is not shown beside it. The caller gets the snapshot.
 */

import { describeMismatch } from '../../daemon/lan/mismatched-routers.ts'
import type {
  DuplicateSnapshot,
  HeldBack,
  MismatchedRouterSnapshot,
  RouterSnapshot,
  Snapshot,
} from '../../daemon/telemetry/snapshot.ts'
import { clock, span } from '../../http/page/words.js'
import { discardText, reasonText } from '../../vrrp/reason-text.ts'
import { prioritySum } from './status-healthcheck.ts'
import { ago, moment, seconds } from './status-time.ts'

/**
 * Returns the lines of `holdfast status` about one router. `because` returns the reason why the router is in its state.
 */
export function formatRouter(router: RouterSnapshot, snapshot: Snapshot, because: string): string[] {
  const { name, state, since, vrid, addresses, mismatchedRouters, counters } = router
  const now = Date.parse(snapshot.takenAt)
  const lines = [
    '',
    `${name}: ${state} since ${moment(since, now)} (${because})`,
    `  vrid ${vrid} on ${router.interface ?? 'no interface'}${holdingText(router)}, IPv${router.family.slice(-1)}, VRRPv${router.version}, ${router.transport}`,
    `  priority ${prioritySum(router, snapshot.healthchecks)}, every ${router.advertisementIntervalMs} ms`,
    `  holder: ${holderText(router)}`,
    `  addresses: ${addresses.map(({ address, present }) => `${address} ${present ? '(here)' : '(not here)'}`).join(', ')}`,
  ]
  // A daemon of an earlier version does not send `holding`.
  if (router.holding?.problem != null) lines.push(`  CANNOT FOLLOW ITS ADDRESS: ${router.holding.problem}`)
  if (router.departing) lines.push('  NO LONGER CONFIGURED: it is stopping')
  if (router.group !== null) lines.push(`  moves with its sync group ${router.group}`)
  if (router.yieldingUntil !== null)
    lines.push(
      `  YIELDS until ${clock(Date.parse(router.yieldingUntil), now)}; holdfast yield ${name} --cancel ends it`,
    )
  lines.push(...faultLines(router))
  if (router.configuredFault !== null) lines.push(`  FAULT IN ITS CONFIGURATION: ${router.configuredFault}`)
  // A daemon of an earlier version does not send `heldBack`.
  if (router.heldBack != null)
    lines.push(`  NOT PREEMPTING the Active (priority ${router.holder.priority}): ${HELD_BACK[router.heldBack]}`)
  for (const [deadline, ms] of Object.entries(router.deadlines)) lines.push(`  ${deadlineText(deadline, ms)}`)
  const discarded = Object.entries(counters.discarded).map(([key, count]) => `${count} (${discardText(key)})`)
  const sent = Object.values(counters.sent).reduce((sum, count) => sum + count, 0)
  lines.push(
    `  advertisements: ${sent} sent, ${counters.received} received, ${discarded.length === 0 ? 'none discarded' : `discarded: ${discarded.join(', ')}`}`,
  )
  for (const mismatched of mismatchedRouters) lines.push(mismatchLine(mismatched, router.version))
  for (const duplicate of router.duplicates) lines.push(duplicateLine(duplicate))
  for (const [code, count] of Object.entries(counters.sendFailures))
    lines.push(`  SEND FAILURES: ${code}, ${times(count)} since the start; the log has the destination`)
  lines.push(...competingLines(router, now))
  // A daemon of an earlier version does not send `otherActives`.
  for (const { address, forMs, priority } of router.otherActives ?? [])
    lines.push(`  TWO ACTIVES: ${address} (priority ${priority}) also advertises, for ${span(forMs)}`)
  return lines
}

function holdingText({ holding, interface: on }: RouterSnapshot): string {
  if (holding?.address == null || on === null) return ''
  return `, which has ${holding.address}${holding.file === null ? '' : ` of ${holding.file}`}`
}

const HELD_BACK: Readonly<Record<HeldBack, string>> = {
  preempt: 'preempt is false',
  preemptDelay: 'preemptDelay has not passed yet',
  margin: 'the difference of priorities is not above margin',
}

function priorityText({ heardMsAgo, priority }: NonNullable<DuplicateSnapshot['router']>): string {
  if (priority === null) return 'priority unheard'
  return heardMsAgo == null ? `priority ${priority}` : `priority ${priority} when last heard, ${ago(heardMsAgo)}`
}

/** Returns the line about another host that answers for a VIP. A confirmed duplicate holder gets a line of its own. */
function competingLines({ duplicates, competingAnswer: competing }: RouterSnapshot, now: number): string[] {
  if (competing == null || duplicates.some(({ mac }) => mac === competing.mac)) return []
  const since = clock(now - competing.sinceMsAgo, now)
  return [
    `  COMPETING HOST: ${competing.mac} also answers for ${competing.address}: ${times(competing.answers)} since ${since}, last ${ago(competing.lastMsAgo)}`,
  ]
}

const packets = (count: number) => (count === 1 ? '1 packet' : `${count} packets`)
const times = (count: number) => (count === 1 ? 'once' : `${count} times`)

function mismatchLine(mismatched: MismatchedRouterSnapshot, version: number): string {
  const { address, count, lastHeardMsAgo, listenedTo, reason } = mismatched
  const effect = listenedTo ? 'accepted' : 'ignored'
  const text = describeMismatch(reason, mismatched.version, version)
  return `  MISMATCHED ROUTER: ${address} ${text} (${reason}): ${effect}, ${packets(count)}, the last ${lastHeardMsAgo} ms ago`
}

function duplicateLine({ address, foundMsAgo, mac, router }: DuplicateSnapshot): string {
  const who = router === null ? 'no VRRP heard from it' : `router ${router.address}, ${priorityText(router)}`
  return `  DUPLICATE HOLDER: ${mac} (${who}) also has ${address}, for ${span(foundMsAgo)}`
}

function holderText({ holder, mismatchedRouters }: RouterSnapshot): string {
  const { self, address, priority, heardMsAgo } = holder
  if (self) return `this node (${address}, priority ${priority})`
  if (address === null)
    return mismatchedRouters.some(({ listenedTo }) => !listenedTo)
      ? 'unknown: only advertisements with other settings than here have been received'
      : 'unknown: no advertisement of this virtual router has been received'
  return `${address}, priority ${priority}, heard ${heardMsAgo} ms ago`
}

/**
 * Returns the line of faults. A member of a sync group only follows the member that has the cause; a missing source
 * address follows from a missing link.
 */
function faultLines({ faults, group, interface: on }: RouterSnapshot): string[] {
  const isCause = (fault: string) =>
    !fault.startsWith('syncGroup:') && !(fault === 'sourceAddressMissing' && faults.includes('linkDown'))
  const causes = faults.filter(isCause)
  if (causes.length > 0) return [`  FAULT: ${causes.map((fault) => `${fault} (${causeText(fault, on)})`).join(', ')}`]
  const followed = faults.map((fault) => fault.replace(/^syncGroup:/, ''))
  return followed.length === 0 ? [] : [`  FAULT: follows ${followed.join(', ')} (sync group ${group})`]
}

const causeText = (fault: string, on: string | null): string =>
  fault === 'linkDown' && on !== null ? `link down on ${on}` : reasonText(fault)

const DEADLINES: Readonly<Record<string, (time: string) => string>> = {
  activeDownInMs: (time) => `takes over in ${time} if the Active stays silent`,
  regularDownInMs: (time) => `takes over in ${time} if the health checks do not confirm its priority sooner`,
  preemptInMs: (time) => `takes over in ${time} because of its higher priority (preemptDelay)`,
  addressesOffInMs: (time) => `removes its addresses in ${time}`,
  adverInMs: (time) => `next advertisement in ${time}`,
  untilInMs: (time) => `decides in ${time}`,
}

function deadlineText(deadline: string, ms: number): string {
  const text = DEADLINES[deadline]
  // A daemon of a later version may send further deadlines.
  return text === undefined ? `${deadline} ${ms}` : text(seconds(ms))
}
