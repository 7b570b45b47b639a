/**
 * Decides what this node's agent publishes about the holders of the cluster's virtual addresses: its own entries, and
 * on one node the conditions. The election of the engines decides which node publishes conditions: the holder of the
 * first API address. If there is no holder, or its agent does not publish, a Backup does it by its rank. By this rule N
 * agents do not overwrite one field. The function is pure: the time is an argument, and nothing is stored except the
 * returned memory.
 */
import { defined } from '../../../base/defined.ts'
import type { Address } from '../../../wire/address.ts'
import { parseAddress } from '../../../wire/address.ts'
import type { ClusterNode } from '../cluster-node.ts'
import type { Elsewhere } from '../engine/platform.ts'
import { isControlPlane } from '../engine/upstream-names.ts'
import type { Service } from '../engine/vrid.ts'
import { type Condition, datedConditions, elsewhereFindings } from './condition.ts'
import { type EngineReport, type Sight, sightAt } from './engine-report.ts'
import { type Circumstances, findingsOf, type Holding, SERVICE_NAMES } from './finding.ts'
import {
  competingHoldersIn,
  type HolderStatement,
  type Moment,
  NO_STATEMENT,
  type StatementMemory,
  stepStatement,
} from './holder-statement.ts'
import { type Claims, type Holder, type Published, SERVICE_KINDS } from './published-status.ts'

/** An address of the cluster, from the agent's settings. */
export type ServiceVip = { readonly address: Address; readonly service: Service; readonly index: number }

export type HoldersInput = {
  readonly self: string
  readonly nodes: readonly ClusterNode[]
  readonly vips: readonly ServiceVip[]
  readonly report: EngineReport | undefined
  /** Entries that the API reported; `undefined` before the API has answered. */
  readonly published: Published | undefined
  /** Reason why the nodes hold no VIP; `undefined` if they do. */
  readonly elsewhere: Elsewhere | undefined
  readonly circumstances: Circumstances
}

export type HoldersMemory = {
  readonly claims: ReadonlyMap<Address, StatementMemory>
  /** Conditions that this agent stated last; their times are used again. */
  readonly said: readonly Condition[]
  /**
   * Message that ingress is disabled, and the time in milliseconds since which the message applies; `undefined` if it
   * does not apply.
   */
  readonly disabled: { readonly since: number; readonly message: string } | undefined
}

export const FIRST_HOLDERS: HoldersMemory = { claims: new Map(), said: [], disabled: undefined }

export type PublishedFields = {
  readonly claims: Claims
  /** Conditions that this node publishes; `undefined` if another node publishes the conditions. */
  readonly conditions: readonly Condition[] | undefined
  readonly observedGeneration: number | undefined
}

/** Returns the memory and the fields to publish after an event. */
export function stepHolders(
  memory: HoldersMemory,
  input: HoldersInput,
  now: Moment,
): readonly [HoldersMemory, PublishedFields] {
  if (input.elsewhere !== undefined) return disabled(memory, input, input.elsewhere, now)
  const stepped = stepClaims(memory, input, now)
  const claims = claimsOf(input, stepped)
  const first = firstOf(stepped)
  const findings =
    first === undefined ||
    first.claim.kind === 'none' ||
    input.published === undefined ||
    input.circumstances.probe.result === 'unasked'
      ? undefined
      : findingsOf(
          stepped.map((each) => holdingOf(input, each)),
          input.circumstances,
        )
  const generation = input.published?.generation
  const conditions =
    findings && datedConditions(findings, input.published?.conditions ?? memory.said, now.epochMs, generation)
  const nextMemory = {
    claims: new Map(stepped.map(({ next, vip }) => [vip.address, next])),
    said: conditions ?? memory.said,
    disabled: undefined,
  }
  return [nextMemory, { claims, conditions, observedGeneration: conditions && generation }]
}

/**
 * Returns whether this node must ask kube-api: it publishes conditions, or may have to publish that an address has no
 * holder. In a cluster only one node does, so the API server does not get requests from all nodes.
 */
export function needsProbe(
  { claims, disabled: isDisabled }: HoldersMemory,
  { report, vips }: Pick<HoldersInput, 'report' | 'vips'>,
): boolean {
  if (isDisabled !== undefined) return false
  return vips.some(({ address, service }) => {
    const { kind } = sightAt(report, address)
    const isOthers = kind === 'heard' || kind === 'absent'
    return service === 'api' && (!isOthers || claims.get(address)?.foreign !== undefined)
  })
}

/** Milliseconds after the change of ingressHa by which an engine has released its VIPs. */
const RELEASED_BY_THEN = 2_000

/**
 * Returns the fields that a node publishes when no node should hold a VIP. All agents compute the same conditions; the
 * first agent publishes them. A node that still holds a VIP publishes its own entry.
 */
function disabled(
  memory: HoldersMemory,
  input: HoldersInput,
  elsewhere: Elsewhere,
  now: Moment,
): readonly [HoldersMemory, PublishedFields] {
  const { nodes, published, self } = input
  const held = stepClaims(memory, input, now).filter(({ sight }) => sight.kind === 'ours')
  const findings = elsewhereFindings(elsewhere, stillHeld(input, held))
  const message = findings.map((one) => one.message).join()
  const since = memory.disabled?.message === message ? memory.disabled.since : now.monotonicMs
  const rank = nodes
    .map(({ name }) => name)
    .sort()
    .indexOf(self)
  const isDue = published !== undefined && now.monotonicMs - since >= RELEASED_BY_THEN + Math.max(rank, 0) * 1_000
  const generation = published?.generation
  const conditions = datedConditions(findings, published?.conditions ?? memory.said, now.epochMs, generation)
  const isSaid = conditions.every((condition) =>
    published?.conditions.some(
      (one) =>
        one.type === condition.type &&
        one.status === condition.status &&
        one.reason === condition.reason &&
        one.message === condition.message,
    ),
  )
  const says = isDue && !isSaid ? conditions : undefined
  const claims = new Map(held.map(({ next, vip }) => [vip.address, next]))
  return [
    { claims, said: conditions, disabled: { since, message } },
    { claims: claimsOf(input, held), conditions: says, observedGeneration: says && generation },
  ]
}

/**
 * Returns texts about VIPs that are still held: from our engine, and from the entries of other nodes. While our engine
 * does not answer, our own last entry counts.
 */
function stillHeld({ nodes, published, report, self }: HoldersInput, held: readonly Stepped[]): readonly string[] {
  const isHeard = ({ node }: Holder) => (node === self ? report === undefined : nodes.some(({ name }) => name === node))
  const lines = [
    ...held.map(({ vip }) => `${SERVICE_NAMES[vip.service]} ${vip.address} is still held by ${self}`),
    ...(published?.holders ?? [])
      .filter(isHeard)
      .map(
        ({ address, node, service }) => `${service === 'API' ? 'API' : 'ingress'} ${address} is still held by ${node}`,
      ),
  ]
  return [...new Set(lines)].sort()
}

/**
 * Returns the number of nodes that publish before this node. Control plane nodes come first, in the order of their
 * names.
 */
function rankOf({ nodes, self }: HoldersInput): number {
  const isFirst = ({ labels }: ClusterNode) => isControlPlane(labels)
  const names = (some: readonly ClusterNode[]) => some.map(({ name }) => name).sort()
  const order = [...names(nodes.filter(isFirst)), ...names(nodes.filter((node) => !isFirst(node)))]
  return Math.min(Math.max(order.indexOf(self), 0), MOST_RANKS)
}

/** Largest rank. With hundreds of nodes, the last ones would otherwise wait for minutes. */
const MOST_RANKS = 15

function stepClaims(memory: HoldersMemory, input: HoldersInput, now: Moment): readonly Stepped[] {
  const { circumstances, nodes, published, report, self, vips } = input
  const rank = rankOf(input)
  const shared = { known: published !== undefined, self, rank, nameOf: (address: Address) => nodeAt(nodes, address) }
  const speaks = firstOf(vips.map((vip) => ({ vip })))?.vip.address
  const isOurs = speaks !== undefined && sightAt(report, speaks).kind === 'ours'
  return vips.map((vip) => {
    const sight = sightAt(report, vip.address)
    const entry = published?.holders.find(({ address }) => address === vip.address)
    const unanswered = vip.service === 'api' && circumstances.probe.result === 'silent'
    const unwanted = vip.service === 'ingress' && circumstances.ingressDisabled && isOurs
    const before = memory.claims.get(vip.address) ?? NO_STATEMENT
    const [next, claim] = stepStatement(before, { ...shared, sight, entry, unanswered, unwanted }, now)
    return { vip, sight, entry, next, claim }
  })
}

/** Returns the address whose holder publishes the conditions. */
const firstOf = <T extends { readonly vip: ServiceVip }>(stepped: readonly T[]): T | undefined =>
  stepped.find(({ vip }) => vip.service === 'api') ?? stepped[0]

/** Returns the name of the node with an address; `undefined` if the API knows no such node. */
export const nodeAt = (nodes: readonly ClusterNode[], address: Address): string | undefined =>
  nodes.find(({ addresses }) => addresses.some((one) => parseAddress(one.address) === address))?.name

function holderOf(input: HoldersInput, { claim, sight, vip }: Stepped): Holder | undefined {
  const head = { address: vip.address, service: SERVICE_KINDS[vip.service], saidBy: input.self }
  const alsoAnswering = othersIn(input.nodes, sight)
  if (claim.kind === 'foreign') return { ...head, node: claim.node, since: claim.since, alsoAnswering }
  if (claim.kind === 'none' || sight.kind !== 'ours') return undefined
  return { ...head, node: input.self, since: sight.since, alsoAnswering }
}

function othersIn(nodes: readonly ClusterNode[], sight: Sight): readonly string[] {
  if (sight.kind !== 'ours' && sight.kind !== 'heard') return []
  const names = sight.duplicates.map(({ mac, router }) =>
    router === undefined ? mac : (nodeAt(nodes, router) ?? router),
  )
  return [...new Set(names)].sort()
}

/**
 * Returns the status fields that this node publishes. The two texts name the holder of the first VIP of each service;
 * every VIP has its own entry.
 */
function claimsOf(input: HoldersInput, stepped: readonly Stepped[]): Claims {
  const holderNameOf = (service: Service): string | undefined => {
    const first = stepped.find(({ vip }) => vip.service === service)
    return first && holderOf(input, first)?.node
  }
  const [api, ingress] = [holderNameOf('api'), holderNameOf('ingress')]
  return {
    ...defined({ apiServerInternalIpOwner: api, ingressIpOwner: ingress }),
    holders: stepped.map((each) => holderOf(input, each)).filter((holder) => holder !== undefined),
  }
}

type Stepped = {
  readonly vip: ServiceVip
  readonly sight: Sight
  readonly entry: Holder | undefined
  readonly next: StatementMemory
  readonly claim: HolderStatement
}

function holdingOf({ nodes, self }: HoldersInput, { claim, entry, next, sight, vip }: Stepped): Holding {
  const head = { address: vip.address, service: vip.service }
  const own = othersIn(nodes, sight)
  switch (sight.kind) {
    case 'ours':
      return {
        ...head,
        node: self,
        others: [...new Set([...own, ...competingHoldersIn(next)])].filter((name) => name !== self),
        by: self,
      }
    case 'heard':
      return {
        ...head,
        node: nodeAt(nodes, sight.from) ?? (entry?.node || sight.from),
        others: [...new Set([...own, ...(entry?.alsoAnswering ?? [])])],
        by: self,
      }
    default:
      if (claim.kind === 'foreign') return { ...head, node: '', others: [], by: self }
      return { ...head, node: entry?.node, others: entry?.alsoAnswering ?? [], by: entry?.saidBy }
  }
}
