/**
 * Prints the sentence of the status page for each VIP: the holder, since when and why, and the next in line. The code
 * of the page (http/page/, docs/adr/0041) makes the sentence. This file asks the nodes of `api.peers` for their status.
 * This file decides the warning in capitals before a sentence.
 */

import type { Snapshot } from '../../daemon/telemetry/snapshot.ts'
import type { JournalEvent } from '../../events/event.ts'
import { readEventPage } from '../../events/event-page.ts'
import { ask } from '../../files/control-client.ts'
import { becauseOf, failedChecksOf, groupsOf, holdersOf, namesOf } from '../../http/page/cluster.js'
import { headlineOf } from '../../http/page/headline.js'
import { Memory } from '../../http/page/memory.js'
import type { PeersAnswer } from '../../http/peers/peers.ts'
import { reasonText } from '../../vrrp/reason-text.ts'
import { configurationAt } from '../explain/explain-configuration.ts'

/** Information for `holdfast status` besides the status of this node. */
export type Surroundings = {
  /** Events of this node, the oldest first. */
  readonly events: readonly JournalEvent[]
  /** Answers of the other nodes; `undefined` if these nodes were not asked. */
  readonly peers: PeersAnswer | undefined
}

export const ALONE: Surroundings = { events: [], peers: undefined }

/** Reads the events of this node and the status of its peers. Never rejects. Waits at most a second for a peer. */
export async function surroundingsOf(
  socket: string,
  { config }: Snapshot,
  { asksPeers, within }: { readonly asksPeers: boolean; readonly within: number },
): Promise<Surroundings> {
  const asked = asksPeers ? peersOf(config.file) : undefined
  const [events, peers] = await Promise.all([eventsOf(socket, within), asked])
  return { events, peers }
}

async function eventsOf(socket: string, within: number): Promise<readonly JournalEvent[]> {
  try {
    const { body } = await ask(socket, { path: '/v1/events', within })
    return readEventPage(JSON.parse(body))?.events ?? []
  } catch {
    // A daemon of an earlier version may not return events. The reasons in its status are used instead.
    return []
  }
}

async function peersOf(file: string | null): Promise<PeersAnswer> {
  const found = file === null ? undefined : configurationAt(file)
  const urls = found === undefined || typeof found === 'string' ? [] : found.peers
  const { Peers } = await import('../../http/peers/peers.ts')
  return await new Peers(urls).ask()
}

export type Sentences = {
  /** Printed lines: one line for each VIP, and one line for each node that does not answer. */
  readonly lines: readonly string[]
  /** Returns the reason why a router, given by name, is in its present state. */
  readonly because: (router: string) => string
}

export function sentencesOf(snapshot: Snapshot, { events, peers }: Surroundings): Sentences {
  const now = Date.parse(snapshot.takenAt)
  const memory = new Memory()
  memory.status(snapshot, now)
  memory.events(events)
  if (peers !== undefined) memory.peers(peers, now)
  const { knowsPeers, nodes } = memory
  const own = groupsOf(nodes).flatMap((group) => {
    const member = group.members.find(({ node }) => node.self)
    return member === undefined ? [] : [{ group, member }]
  })
  const silent = nodes.filter(({ problem }) => problem !== null)
  return {
    lines: [
      ...own.map(({ group, member }) => {
        const { next, rest, verb, what, who } = headlineOf(group, nodes, now, knowsPeers)
        const text = [who, verb, what, rest, next].filter((part) => part !== '').join(' ')
        return `${member.router.name}: ${alarmOf(group, snapshot)}${text}`
      }),
      ...silent.map(({ name, problem }) => `${name} DOES NOT ANSWER: ${problem}`),
    ],
    because: (name) => {
      const found = own.find(({ member }) => member.router.name === name)
      if (found !== undefined) return becauseOf(found.member, found.group, namesOf(nodes))
      return reasonText(snapshot.routers.find((each) => each.name === name)?.reason ?? '')
    },
  }
}

type Group = ReturnType<typeof groupsOf>[number]

/**
 * Returns the warning before the sentence about a VIP, with its colon. Empty if a node holds the VIP and serves
 * clients, as far as the answering nodes know.
 */
function alarmOf(group: Group, snapshot: Snapshot): string {
  const [holder, ...others] = holdersOf(group)
  if (others.length > 0) return `${others.length + 1} NODES ARE ACTIVE: `
  const heard = group.members.flatMap(({ node, router }) => (node.self ? [router.name] : []))
  const other = snapshot.routers.find(({ name }) => heard.includes(name))?.otherActives?.length ?? 0
  if (other > 0) return `${other + 1} ROUTERS ADVERTISE AS ACTIVE: `
  if (holder === undefined) return ''
  const failed = failedChecksOf(holder)
  if (failed.length === 0) return ''
  return `ACTIVE, BUT CHECK${failed.length === 1 ? '' : 'S'} ${failed.join(', ')} ${failed.length === 1 ? 'IS' : 'ARE'} DOWN: `
}
