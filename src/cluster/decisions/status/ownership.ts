/**
 * What the agent of this node publishes of who holds the cluster's virtual addresses: its claims, as itself, and, where it
 * is the one to say so, the conditions. Decided here: who that is. The engines' own election says it: whoever holds the
 * first address of the API; where nobody does, or its agent is silent, a Backup by its rank. So N agents do not write one
 * field in turns. Pure: time comes in, and nothing is remembered but what goes out as memory.
 */
import { defined } from '../../../base/defined.ts'
import type { Address } from '../../../wire/address.ts'
import { parseAddress } from '../../../wire/address.ts'
import type { ClusterNode } from '../cluster-node.ts'
import type { Elsewhere } from '../engine/platform.ts'
import { CONTROL_PLANE_LABEL } from '../engine/upstream-words.ts'
import type { Service } from '../engine/vrid.ts'
import { type Claim, type ClaimMemory, type Moment, NO_CLAIM, rivalsIn, stepClaim } from './claim.ts'
import { type Condition, datedConditions, elsewhereFindings } from './condition.ts'
import { type EngineReport, type Sight, sightAt } from './engine-report.ts'
import { type Circumstances, findingsOf, type Holding, SERVICE_NAMES } from './finding.ts'
import { type Claims, type Holder, type Published, SERVICE_WORDS } from './published-status.ts'

/** An address of the cluster, as it was given to the agent. */
export type ServiceVip = { readonly address: Address; readonly service: Service; readonly index: number }

export type OwnershipInput = {
  readonly self: string
  readonly nodes: readonly ClusterNode[]
  readonly vips: readonly ServiceVip[]
  readonly report: EngineReport | undefined
  /** Undefined: the API has not told yet. */
  readonly published: Published | undefined
  /** Why the nodes hold no VIP; `undefined`: they do. */
  readonly elsewhere: Elsewhere | undefined
  readonly circumstances: Circumstances
}

export type OwnershipMemory = {
  readonly claims: ReadonlyMap<Address, ClaimMemory>
  /** What was said last, for the times in it. */
  readonly said: readonly Condition[]
  /** What is to be said where the nodes hold no VIP, and since when. */
  readonly disabled: { readonly since: number; readonly message: string } | undefined
}

export const FIRST_OWNERSHIP: OwnershipMemory = { claims: new Map(), said: [], disabled: undefined }

export type Statement = {
  readonly claims: Claims
  /** Undefined: another one's to say. */
  readonly conditions: readonly Condition[] | undefined
  readonly observedGeneration: number | undefined
}

export function stepOwnership(
  memory: OwnershipMemory,
  input: OwnershipInput,
  now: Moment,
): readonly [OwnershipMemory, Statement] {
  if (input.elsewhere !== undefined) return disabled(memory, input, input.elsewhere, now)
  const stepped = stepClaims(memory, input, now)
  const claims = claimsOf(input, stepped)
  const first = firstOf(stepped)
  const findings =
    first === undefined ||
    first.claim.kind === 'none' ||
    input.published === undefined ||
    input.circumstances.probe.verdict === 'unasked'
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
 * Tells whether this node has to know if kube-api answers: it publishes conditions, or it may have to say that nobody holds
 * an address. Of a cluster's nodes that is one, so that the API server is not asked by all of them.
 */
export function needsProbe(
  { claims, disabled: isDisabled }: OwnershipMemory,
  { report, vips }: Pick<OwnershipInput, 'report' | 'vips'>,
): boolean {
  if (isDisabled !== undefined) return false
  return vips.some(({ address, service }) => {
    const { kind } = sightAt(report, address)
    const isOthers = kind === 'heard' || kind === 'absent'
    return service === 'api' && (!isOthers || claims.get(address)?.foreign !== undefined)
  })
}

/** Milliseconds in which an engine lets go of what it has. */
const RELEASED_BY_THEN = 2_000

/** All agents come to the same conditions: the first one says them, the others find them said. A holder names itself. */
function disabled(
  memory: OwnershipMemory,
  input: OwnershipInput,
  elsewhere: Elsewhere,
  now: Moment,
): readonly [OwnershipMemory, Statement] {
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

/** By our own engine, by the word of other nodes; by our own last word while the engine does not answer. */
function stillHeld({ nodes, published, report, self }: OwnershipInput, held: readonly Stepped[]): readonly string[] {
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

/** Those in whose engine the addresses of the API may be go first, in the order of their names; the others need not hurry. */
function rankOf({ nodes, self }: OwnershipInput): number {
  const isFirst = ({ labels }: ClusterNode) => CONTROL_PLANE_LABEL in labels
  const names = (some: readonly ClusterNode[]) => some.map(({ name }) => name).sort()
  const order = [...names(nodes.filter(isFirst)), ...names(nodes.filter((node) => !isFirst(node)))]
  return Math.min(Math.max(order.indexOf(self), 0), MOST_RANKS)
}

/** With hundreds of nodes the last ones would say nothing for minutes. */
const MOST_RANKS = 15

function stepClaims(memory: OwnershipMemory, input: OwnershipInput, now: Moment): readonly Stepped[] {
  const { circumstances, nodes, published, report, self, vips } = input
  const rank = rankOf(input)
  const shared = { known: published !== undefined, self, rank, nameOf: (address: Address) => nodeAt(nodes, address) }
  const speaks = firstOf(vips.map((vip) => ({ vip })))?.vip.address
  const isOurs = speaks !== undefined && sightAt(report, speaks).kind === 'ours'
  return vips.map((vip) => {
    const sight = sightAt(report, vip.address)
    const entry = published?.holders.find(({ address }) => address === vip.address)
    const unanswered = vip.service === 'api' && circumstances.probe.verdict === 'silent'
    const unwanted = vip.service === 'ingress' && circumstances.ingressDisabled && isOurs
    const before = memory.claims.get(vip.address) ?? NO_CLAIM
    const [next, claim] = stepClaim(before, { ...shared, sight, entry, unanswered, unwanted }, now)
    return { vip, sight, entry, next, claim }
  })
}

/** Who holds this one speaks for all. */
const firstOf = <T extends { readonly vip: ServiceVip }>(stepped: readonly T[]): T | undefined =>
  stepped.find(({ vip }) => vip.service === 'api') ?? stepped[0]

/** Of the node that has this address; undefined: none has, as far as the API says. */
export const nodeAt = (nodes: readonly ClusterNode[], address: Address): string | undefined =>
  nodes.find(({ addresses }) => addresses.some((one) => parseAddress(one.address) === address))?.name

function holderOf(input: OwnershipInput, { claim, sight, vip }: Stepped): Holder | undefined {
  const head = { address: vip.address, service: SERVICE_WORDS[vip.service], saidBy: input.self }
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

/** The two strings name the holder of the first address of a service; each other address has its own entry. */
function claimsOf(input: OwnershipInput, stepped: readonly Stepped[]): Claims {
  const ownerOf = (service: Service): string | undefined => {
    const first = stepped.find(({ vip }) => vip.service === service)
    return first && holderOf(input, first)?.node
  }
  const [api, ingress] = [ownerOf('api'), ownerOf('ingress')]
  return {
    ...defined({ apiServerInternalIpOwner: api, ingressIpOwner: ingress }),
    holders: stepped.map((each) => holderOf(input, each)).filter((holder) => holder !== undefined),
  }
}

type Stepped = {
  readonly vip: ServiceVip
  readonly sight: Sight
  readonly entry: Holder | undefined
  readonly next: ClaimMemory
  readonly claim: Claim
}

function holdingOf({ nodes, self }: OwnershipInput, { claim, entry, next, sight, vip }: Stepped): Holding {
  const head = { address: vip.address, service: vip.service }
  const own = othersIn(nodes, sight)
  switch (sight.kind) {
    case 'ours':
      return {
        ...head,
        node: self,
        others: [...new Set([...own, ...rivalsIn(next)])].filter((name) => name !== self),
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
