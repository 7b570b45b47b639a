/**
 * Grace period (docs/adr/0045): a router that has lost (740)–(765) goes on answering for each address until the winner has
 * announced it, for 20 ms at most. Meanwhile it follows the winner as any Backup does. Decided here: which
 * router does so, and until when. Refuses to know what a Backup does about an event, and what the winner does about the
 * last advertisement. Option: `keepUntilClaimed`. A reload that turns it off ends no grace period.
 */
import { type Millis, millis, plus } from '../../wire/units.ts'
import type { Event } from '../event.ts'
import type { Step } from '../fsm.ts'
import { ownsAddresses, type Parameters } from '../parameters.ts'
import type { Active, Backup, Kept, State } from '../state.ts'
import { type Extension, everyEvent } from './extension.ts'
import { removal } from './leaving.ts'

/** Clients have heard what we have heard; what they sent to us before that is on its way for no longer. */
const OFF_AFTER_CLAIM = 1
/** After the winner's advertisement. Its first repeat comes 50 ms after our last one, so when we answer no more. */
const LONGEST = 20
/** Equals whose timers end together on a busy machine: one of them goes immediately, before clients have learned its claim. */
const RACE = 100

type InGracePeriod = Backup & { readonly kept: readonly Kept[] }

/** Whether a Backup still answers for addresses. */
export const isInGracePeriod = (state: State): state is InGracePeriod =>
  state.name === 'Backup' && state.kept !== undefined

/** Returns the addresses that a router which has just lost answers for; `undefined` if it answers no more. */
export function keptAfterLosing(
  { since }: Active,
  heardAt: Millis,
  parameters: Parameters,
  now: Millis,
): readonly Kept[] | undefined {
  const { addresses, extensions } = parameters
  const offAt = plus(heardAt, LONGEST)
  const isKept = extensions.gracePeriod === true && !ownsAddresses(parameters) && now - since >= RACE && now < offAt
  return isKept ? addresses.map((address) => ({ address, offAt })) : undefined
}

export const gracePeriod: Extension = {
  name: 'grace-period',
  isOn: ({ extensions }) => extensions.gracePeriod === true,
  isPending: { Backup: isInGracePeriod },
  wraps: {
    Active: {
      advertisementReceived: (inner, state, event, parameters, now) => {
        const [next, effects] = inner(state, event, parameters, now)
        if (next.name !== 'Backup') return [next, effects]
        const kept = keptAfterLosing(state, event.receivedAt, parameters, now)
        if (kept === undefined) return [next, effects]
        // They go later, each with the winner's claim.
        return [{ ...next, kept }, effects.filter(({ kind }) => kind !== 'removeAddresses')]
      },
    },
    Backup: everyEvent(isInGracePeriod, stepInGracePeriod),
  },
}

/** `asBackup`: what the event means for a Backup that answers for nothing, which is what it means here. */
function stepInGracePeriod(
  asBackup: (state: Backup) => Step,
  state: InGracePeriod,
  event: Event,
  parameters: Parameters,
  now: Millis,
): Step {
  if (event.kind === 'claimHeard') return [claimed(state, event), []]
  const { kept, ...backup } = state
  const [next, effects] = asBackup(backup)
  // The winner has gone again, and they are still here.
  if (next.name === 'Active') return [next, effects]
  const rest = next.name === 'Backup' ? kept.filter((each) => staysFor(event, each, parameters, now)) : []
  return [still(next, rest), [...removal(kept.filter((each) => !rest.includes(each))), ...effects]]
}

function staysFor(event: Event, { address, offAt }: Kept, parameters: Parameters, now: Millis): boolean {
  // The guardian took them off; what it could not reach must not stay.
  if (event.kind === 'absenceNoticed') return false
  // A reload: what is not ours any more goes, whatever the time.
  if (event.kind === 'parametersChanged') return parameters.addresses.includes(address)
  return now < offAt
}

const still = <S extends State>(state: S, kept: readonly Kept[]): S | InGracePeriod =>
  state.name === 'Backup' && kept.length > 0 ? { ...state, kept } : state

function claimed(state: InGracePeriod, { address, heardAt }: Extract<Event, { kind: 'claimHeard' }>): Backup {
  const off = plus(heardAt, OFF_AFTER_CLAIM)
  const kept = state.kept.map((each) =>
    each.address === address ? { address, offAt: millis(Math.min(each.offAt, off)) } : each,
  )
  return { ...state, kept }
}
