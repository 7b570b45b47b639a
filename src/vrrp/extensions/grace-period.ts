/**
 * A router that has lost (rows A4 and A5) and still answers (docs/adr/0045): it follows the winner as any Backup does, and
 * gives up each address when the winner has told the LAN where it is now. Decided here: who lingers, and until when. Refuses
 * to know what a Backup does about an event, and what the winner does about the last advertisement.
 */
import type { Address } from '../../wire/address.ts'
import { type Millis, millis, plus } from '../../wire/units.ts'
import type { Event, StateEvent } from '../event.ts'
import { ownsAddresses, type Parameters } from '../parameters.ts'
import type { Active, Backup, Kept, State } from '../state.ts'
import type { Step } from '../transition.ts'
import { removal } from './leaving.ts'

/** Clients have heard what we have heard; what they sent to us before that is on its way for no longer. */
const OFF_AFTER_CLAIM = 1
/** After the winner's advertisement. Its first repeat comes 50 ms after our last one, so when we answer no more. */
const LONGEST = 20
/** Equals whose timers end together on a busy machine: one of them goes at once, before its claim is anybody's habit. */
const RACE = 100

/** Undefined: it answers no more from now on. */
export function keptByLoser(
  { since }: Active,
  heardAt: Millis,
  parameters: Parameters,
  now: Millis,
): readonly Kept[] | undefined {
  const { addresses, knobs } = parameters
  const offAt = plus(heardAt, LONGEST)
  const lingers = knobs.keepUntilClaimed && !ownsAddresses(parameters) && now - since >= RACE && now < offAt
  return lingers ? addresses.map((address) => ({ address, offAt })) : undefined
}

type Lingering = Backup & { readonly kept: readonly Kept[] }

export const isLingering = (state: State): state is Lingering => state.name === 'Backup' && state.kept !== undefined

/** `asBackup`: what the event means for one that answers for nothing, which is what it means here. */
export function stepLingering(
  state: Lingering,
  event: StateEvent,
  now: Millis,
  asBackup: (state: Backup) => Step,
): Step {
  if (event.kind === 'claimHeard') return [claimed(state, event.address, event.heardAt), []]
  const { kept, ...backup } = state
  const [next, effects] = asBackup(backup)
  // The winner has gone again, and they are still here.
  if (next.name === 'Active') return [next, effects]
  const rest = next.name === 'Backup' && !endsIt(event) ? kept.filter(({ offAt }) => now < offAt) : []
  return [still(next, rest), [...removal(kept.filter((each) => !rest.includes(each))), ...effects]]
}

/** After a reload. */
export function keepOnlyListed({ kept, ...backup }: Lingering, { addresses }: Parameters): Step {
  const rest = kept.filter(({ address }) => addresses.includes(address))
  return [still(backup, rest), removal(kept.filter((each) => !rest.includes(each)))]
}

/** The guardian took them off; what it could not reach must not stay. */
const endsIt = ({ kind }: Event): boolean => kind === 'absenceNoticed'

const still = <S extends State>(state: S, kept: readonly Kept[]): S | Lingering =>
  state.name === 'Backup' && kept.length > 0 ? { ...state, kept } : state

function claimed(state: Lingering, address: Address, heardAt: Millis): Backup {
  const off = plus(heardAt, OFF_AFTER_CLAIM)
  const kept = state.kept.map((each) =>
    each.address === address ? { address, offAt: millis(Math.min(each.offAt, off)) } : each,
  )
  return { ...state, kept }
}
