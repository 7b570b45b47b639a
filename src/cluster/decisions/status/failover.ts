/**
 * Converts a failover to one Kubernetes Event, from the engine's event journal (docs/events.schema.json). Only the node
 * that has become Active reports the failover. The name of the Event is computed from the failover, so the API refuses
 * a second Event as a duplicate. This file decides what counts as a failover, and the text.
 */

import * as z from 'zod'
import { defined } from '../../../base/defined.ts'
import { parseAddress } from '../../../wire/address.ts'
import type { ClusterNode } from '../cluster-node.ts'
import { SERVICE_NAMES } from './finding.ts'
import { nodeAt, type ServiceVip } from './holders.ts'
import { GROUP, KIND, SINGLETON, VERSION } from './published-status.ts'

const transitionSchema = z.object({
  kind: z.literal('transition'),
  at: z.iso.datetime(),
  from: z.string(),
  to: z.literal('Active'),
  reason: z.string(),
  addresses: z.array(z.string()),
  peer: z.string().optional(),
  heard: z.object({ peer: z.string() }).optional(),
})

export type Failover = {
  readonly vip: ServiceVip
  readonly at: string
  /** Former holder of the VIP; `undefined` if this node knew no holder. */
  readonly from: string | undefined
  readonly to: string
  /** Reason of the transition, as in the event journal. */
  readonly reason: string
}

/** Returns the failovers in an event of the journal. Only transitions to Active are failovers. */
export function failoversIn(
  event: unknown,
  {
    nodes,
    self,
    vips,
  }: { readonly nodes: readonly ClusterNode[]; readonly self: string; readonly vips: readonly ServiceVip[] },
): readonly Failover[] {
  const { success, data } = transitionSchema.safeParse(event)
  // A router that comes back from Leaving or Returning had not lost the address.
  if (!success || (data.from !== 'Backup' && data.from !== 'Initialize')) return []
  const addresses = data.addresses.map((text) => parseAddress(text.replace(/\/\d+$/, '')))
  const before = parseAddress(data.heard?.peer ?? data.peer ?? '')
  return vips
    .filter(({ address }) => addresses.includes(address))
    .map((vip) => ({
      ...{ vip, at: data.at, to: self, reason: data.reason },
      from: before === undefined ? undefined : (nodeAt(nodes, before) ?? before),
    }))
}

/** Texts about the former holder `from`, by reason of the transition. */
const CAUSES: Readonly<Record<string, string>> = {
  activeSilent: 'fell silent',
  activeReleased: 'released it',
  activeDemoted: 'lowered its priority',
  lowerPriorityActive: 'has a lower priority',
}

/** Returns a failover as a core/v1 Event. */
export function failoverEvent({ at, from, reason, to, vip }: Failover, uid: string | undefined) {
  const what = `${SERVICE_NAMES[vip.service]} ${vip.address}`
  const text = CAUSES[reason]
  const cause = from !== undefined && text !== undefined ? `${from} ${text} (${reason})` : reason
  const message =
    from === undefined ? `${what} is held by ${to}: ${cause}` : `${what} moved from ${from} to ${to}: ${cause}`
  const moment = at.replace(/\.\d+Z$/, 'Z')
  const involvedObject = {
    ...{ apiVersion: `${GROUP}/${VERSION}`, kind: KIND, name: SINGLETON },
    ...defined({ uid }),
  }
  return {
    ...{
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: eventName(`${to} ${vip.address} ${at}`), namespace: 'default' },
    },
    ...{ involvedObject, type: 'Normal', reason: from === undefined ? 'VipTaken' : 'VipMoved', message },
    ...{ firstTimestamp: moment, lastTimestamp: moment, count: 1 },
    ...{
      source: { component: 'holdfast-agent', host: to },
      reportingComponent: 'holdfast-agent',
      reportingInstance: to,
    },
  }
}

export type FailoverEvent = ReturnType<typeof failoverEvent>

/** Event of the core API group, as far as all senders need to know it. */
export type KubernetesEvent = {
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly [field: string]: unknown
}

/**
 * Returns the name of a Kubernetes Event, a DNS name. A text always gives the same name: two FNV-1a hashes of 32 bits.
 */
export function eventName(text: string): string {
  const hash = (seed: number): string => {
    let value = seed
    for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0
    return value.toString(16).padStart(8, '0')
  }
  return `${SINGLETON}.${hash(0x811c9dc5)}${hash(0x9e3779b9)}`
}
