/**
 * Moves the API's load balancer between the nodes (HAProxy) and an external one, in phases that HostedNetServices stores.
 * The operator decides the phase, and the nodes carry it out: `apiInt` for CoreDNS, `haproxy` for HAProxy. A phase ends when
 * the nodes are seen to have followed. Keepalived's place, the VIPs, is not touched in any phase. This file decides the
 * order and the texts. Pure.
 */
import * as z from 'zod'
import { defined } from '../../../base/defined.ts'
import { type Address, parseAddress } from '../../../wire/address.ts'
import type { Balancer } from '../status/balancer.ts'

export const PHASES = [
  /** HAProxy runs, and `api-int` leads to the VIP. */
  'SelfHosted',
  /** kube-api is asked at the external address. During this question nothing else changes. */
  'Checking',
  /** `api-int` is being led to the external address. */
  'SwitchingNames',
  /** Every node leads to the external address. Clients with the old address have the grace period. */
  'Draining',
  /** HAProxy is being stopped on the control plane nodes. */
  'StoppingHAProxy',
  'External',
  /** HAProxy is being started. The names still lead to the external address, if kube-api answers there. */
  'StartingHAProxy',
  /** `api-int` is being led to the VIP. */
  'ReturningNames',
  /** The DNS server of every node answers with the VIP. The external load balancer must stay for the grace period. */
  'Settling',
] as const
export type Phase = (typeof PHASES)[number]

export type Migration = {
  readonly phase: Phase
  /** Time at which the phase began, in the API's format. */
  readonly since: string
  /** External address that is checked, in force, or being left; `undefined` if there is none. */
  readonly address: Address | undefined
  /** Address to which `api-int` leads; `undefined`: the VIP. */
  readonly apiInt: Address | undefined
  /** Order to the nodes. After `Stopped`, HAProxy counts as running only when `StartingHAProxy` has seen it ready. */
  readonly haproxy: 'Running' | 'Stopped'
}

/** Facts about the cluster. Lists of nodes are `undefined` before they were asked in this phase. */
export type MigrationInput = {
  readonly balancer: Balancer
  /** Nodes whose `api-int` does not lead to the address of this phase. */
  readonly namesBehind: readonly string[] | undefined
  /** Control plane nodes whose HAProxy is not in the state of this phase, and their pool while it writes files. */
  readonly haproxyBehind: readonly string[] | undefined
  /** True if kube-api did not answer at `apiInt` three times in a row. Asked in `StartingHAProxy` only. */
  readonly isSilent: boolean
  readonly epochMs: number
  /** Milliseconds for which clients may use the old address. */
  readonly graceMs: number
}

export const firstMigration = (epochMs: number): Migration => ({
  ...{ phase: 'SelfHosted', since: timeOf(epochMs), address: undefined, apiInt: undefined, haproxy: 'Running' },
})

/** Returns the state after an event. */
export function stepMigration(state: Migration, input: MigrationInput): Migration {
  const { balancer } = input
  // A wish that cannot be fulfilled changes nothing, and ends the check of an earlier one.
  if (balancer.kind === 'refused') return state.phase === 'Checking' ? unchecked(state, input) : state
  return balancer.kind === 'own' ? towardsOwn(state, input) : towardsExternal(state, input, balancer)
}

/** Returns the state in which nothing is checked, and the address in force stays. */
function unchecked(state: Migration, input: MigrationInput): Migration {
  const { apiInt, haproxy } = state
  if (apiInt === undefined) return enter(state, input, { phase: 'SelfHosted', address: undefined })
  return enter(state, input, { phase: haproxy === 'Stopped' ? 'External' : 'SwitchingNames', address: apiInt })
}

function towardsOwn(state: Migration, input: MigrationInput): Migration {
  const { haproxyBehind, isSilent, namesBehind } = input
  switch (state.phase) {
    case 'SelfHosted':
      return state
    case 'StartingHAProxy':
      if (haproxyBehind?.length === 0) return enter(state, input, { phase: 'ReturningNames', apiInt: undefined })
      // kubelets reach the API by this name. Without them the nodes are not ready, and the Machine Config Operator, which
      // starts HAProxy, waits for ready nodes. At the VIP the API server of the holder answers without HAProxy.
      return isSilent && state.apiInt !== undefined ? enter(state, input, { apiInt: undefined }) : state
    case 'ReturningNames':
      return namesBehind?.length === 0 ? enter(state, input, { phase: 'Settling' }) : state
    case 'Settling':
      return isOver(state, input) ? enter(state, input, { phase: 'SelfHosted', address: undefined }) : state
    default:
      // The load balancer that must stay is the one in force. The address may be another one, which was only checked.
      if (state.haproxy === 'Stopped')
        return enter(state, input, { phase: 'StartingHAProxy', haproxy: 'Running', address: state.apiInt })
      if (state.apiInt !== undefined)
        return enter(state, input, { phase: 'ReturningNames', apiInt: undefined, address: state.apiInt })
      return enter(state, input, { phase: 'SelfHosted', address: undefined })
  }
}

function towardsExternal(
  state: Migration,
  input: MigrationInput,
  balancer: Extract<Balancer, { kind: 'asking' | 'answers' }>,
): Migration {
  const { haproxyBehind, namesBehind } = input
  const { place } = balancer
  if (state.phase === 'Checking' && state.address === place)
    return balancer.kind === 'answers' ? enter(state, input, { phase: 'SwitchingNames', apiInt: place }) : state
  // Another address is checked first; the present one stays in force.
  if (state.apiInt !== place) return check(state, input, place)
  switch (state.phase) {
    case 'SwitchingNames':
      return namesBehind?.length === 0 ? enter(state, input, { phase: 'Draining' }) : state
    case 'Draining':
      // HAProxy is the way back, and stays while the load balancer is silent.
      return isOver(state, input) && balancer.kind === 'answers'
        ? enter(state, input, { phase: 'StoppingHAProxy', haproxy: 'Stopped' })
        : state
    case 'StoppingHAProxy':
      return haproxyBehind?.length === 0 ? enter(state, input, { phase: 'External' }) : state
    case 'External':
      return state
    default:
      return check(state, input, place)
  }
}

/**
 * Begins to check an address. HAProxy that was being started and was not seen ready counts as stopped, unless the names lead to
 * the VIP already.
 */
const check = (state: Migration, input: MigrationInput, place: Address): Migration =>
  enter(state, input, {
    ...{ phase: 'Checking', address: place },
    ...(state.phase === 'StartingHAProxy' && state.apiInt !== undefined ? { haproxy: 'Stopped' } : {}),
  })

const enter = (state: Migration, { epochMs }: MigrationInput, change: Partial<Migration>): Migration => ({
  ...state,
  ...change,
  since: timeOf(epochMs),
})

/**
 * Returns the state with which an operator continues. A grace period begins again, because another operator measured it by
 * the clock of another machine.
 */
export const continued = (state: Migration, epochMs: number): Migration =>
  state.phase === 'Draining' || state.phase === 'Settling' ? { ...state, since: timeOf(epochMs) } : state

const isOver = ({ since }: Migration, { epochMs, graceMs }: MigrationInput): boolean =>
  epochMs - Date.parse(since) >= graceMs

const timeOf = (epochMs: number): string =>
  new Date(Math.floor(epochMs / 1_000) * 1_000).toISOString().replace('.000Z', 'Z')

/** Returns what the operator has to ask the nodes about in this phase. */
export const asksIn = ({ phase }: Migration): 'names' | 'haproxy' | undefined =>
  phase === 'SwitchingNames' || phase === 'ReturningNames'
    ? 'names'
    : phase === 'StoppingHAProxy' || phase === 'StartingHAProxy'
      ? 'haproxy'
      : undefined

/** Returns the text about a switch in progress; `undefined` if nothing is in progress. */
export function migrationText(state: Migration, input: MigrationInput): string | undefined {
  const { address, phase, since } = state
  const waits = (nodes: readonly string[] | undefined) =>
    nodes === undefined || nodes.length === 0 ? '' : `; waiting for ${nodes.join(', ')}`
  const until = timeOf(Date.parse(since) + input.graceMs)
  const lead = state.apiInt ?? `the VIP, because kube-api did not answer at ${address}`
  switch (phase) {
    case 'SelfHosted':
    case 'External':
      return undefined
    case 'Checking':
      return `kube-api is asked at ${address} until it has answered three times in a row; nothing has changed yet`
    case 'SwitchingNames':
      return `api-int is led to ${address}${waits(input.namesBehind)}`
    case 'Draining':
      return `api-int leads to ${address}; HAProxy stays until ${isOver(state, input) ? 'kube-api answers there' : until}`
    case 'StoppingHAProxy':
      return `HAProxy is stopped: haproxy.yaml belongs in disabled-manifests${waits(input.haproxyBehind)}`
    case 'StartingHAProxy':
      return `HAProxy is started: haproxy.yaml belongs in manifests; api-int leads to ${lead}${waits(input.haproxyBehind)}`
    case 'ReturningNames':
      return `api-int is led to the VIP; ${address} must stay${waits(input.namesBehind)}`
    case 'Settling':
      return `api-int leads to the VIP; the load balancer at ${address} must stay until ${until}`
  }
}

const storedSchema = z.object({
  status: z.object({
    loadBalancer: z.object({
      phase: z.enum(PHASES),
      since: z.iso.datetime(),
      address: z.string().optional(),
      apiInt: z.string().optional(),
      haproxy: z.enum(['Running', 'Stopped']),
    }),
  }),
})

/** Reads the state that an operator stored in HostedNetServices; `undefined` if there is none, or it is not readable. */
export function readMigration(object: unknown): Migration | undefined {
  const read = storedSchema.safeParse(object)
  if (!read.success) return undefined
  const { address, apiInt, ...rest } = read.data.status.loadBalancer
  const parsed = (text: string | undefined) => (text === undefined ? undefined : parseAddress(text))
  return { ...rest, address: parsed(address), apiInt: parsed(apiInt) }
}

/** Returns the status fields in which the state is stored. */
export const storedMigration = ({ address, apiInt, ...rest }: Migration): Readonly<Record<string, unknown>> => ({
  loadBalancer: { ...rest, ...defined({ address, apiInt }) },
})
