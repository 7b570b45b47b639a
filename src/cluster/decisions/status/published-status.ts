/**
 * Reads the status of HostedNetServices in the API, and defines the fields that agents write. The status has one entry
 * for each address, not for each node: the new holder replaces the entry, so no dead node stays in the list. This file
 * decides which parts of the object are valid, because any client may have written it.
 */

import * as z from 'zod'
import { defined } from '../../../base/defined.ts'
import { type Address, parseAddress } from '../../../wire/address.ts'
import type { Service } from '../engine/vrid.ts'
import { CONDITION_TYPES, type Condition } from './condition.ts'

export const GROUP = 'clusterhostednetservices.operator.io'
export const VERSION = 'v1alpha1'
export const KIND = 'HostedNetServices'
export const PLURAL = 'hostednetservices'
export const SINGLETON = 'cluster'

export const SERVICE_KINDS: Readonly<Record<Service, 'API' | 'Ingress'>> = { api: 'API', ingress: 'Ingress' }

export type Holder = {
  readonly address: Address
  readonly service: 'API' | 'Ingress'
  /** Name of the node that holds the address; empty if the address has no holder. */
  readonly node: string
  readonly since: string
  /** Name of the node whose agent wrote the entry: the holder, or a node that receives the holder's advertisements. */
  readonly saidBy: string
  /** Other hosts that answer for the VIP: nodes by name, unknown hosts by address or MAC. */
  readonly alsoAnswering: readonly string[]
}

/**
 * Status fields of the Kubernetes object that the agent of one node sets by server-side apply. If an agent leaves out a
 * field that it set before, the API server removes the field.
 */
export type Claims = {
  readonly apiServerInternalIpOwner?: string
  readonly ingressIpOwner?: string
  readonly holders: readonly Holder[]
}

export type Published = Claims & {
  readonly uid: string
  readonly resourceVersion: string
  readonly generation: number | undefined
  readonly observedGeneration: number | undefined
  readonly conditions: readonly Condition[]
}

const holderSchema = z.object({
  address: z.string(),
  service: z.enum(['API', 'Ingress']),
  node: z.string(),
  since: z.string(),
  saidBy: z.string(),
  alsoAnswering: z.array(z.string()).optional(),
})
const conditionSchema = z.object({
  type: z.enum(CONDITION_TYPES),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: z.string(),
  observedGeneration: z.number().optional(),
})
const objectSchema = z.object({
  metadata: z.object({
    uid: z.string().default(''),
    resourceVersion: z.string().default(''),
    generation: z.number().optional(),
  }),
  status: z
    .object({
      apiServerInternalIpOwner: z.string().optional().catch(undefined),
      ingressIpOwner: z.string().optional().catch(undefined),
      holders: z.array(z.unknown()).catch([]).default([]),
      observedGeneration: z.number().optional().catch(undefined),
      conditions: z.array(z.unknown()).catch([]).default([]),
    })
    .catch({ holders: [], conditions: [] })
    .default({ holders: [], conditions: [] }),
})

/** Reads the status of the Kubernetes object and leaves out invalid parts; `undefined` if the value is no object. */
export function readPublished(value: unknown): Published | undefined {
  const read = objectSchema.safeParse(value)
  if (!read.success) return undefined
  const { metadata, status } = read.data
  const { apiServerInternalIpOwner, ingressIpOwner } = status
  return {
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation,
    observedGeneration: status.observedGeneration,
    ...defined({ apiServerInternalIpOwner, ingressIpOwner }),
    holders: status.holders.flatMap(holderOf),
    conditions: status.conditions.flatMap(conditionOf),
  }
}

function holderOf(value: unknown): Holder[] {
  const { success, data } = holderSchema.safeParse(value)
  const address = success ? parseAddress(data.address) : undefined
  if (!success || address === undefined) return []
  return [{ ...data, address, alsoAnswering: data.alsoAnswering ?? [] }]
}

function conditionOf(value: unknown): Condition[] {
  const { success, data } = conditionSchema.safeParse(value)
  if (!success) return []
  const { observedGeneration, ...rest } = data
  return [{ ...rest, ...defined({ observedGeneration }) }]
}
