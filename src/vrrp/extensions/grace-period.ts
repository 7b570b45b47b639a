/**
 * Grace period (docs/adr/0045): a router that has lost, lines (740) to (765), keeps answering for each address until
 * the winner has announced it, for 20 ms at most. In the grace period the router follows the winner like any Backup.
 * The extension for the grace period decides which router answers longer, and until when. The grace period does not
 * know how a Backup handles an event, or how the winner handles the last advertisement. Option: `keepUntilClaimed`. A
 * reload that turns the option off does not end a grace period.
 */
import { type Millis, millis, plus } from '../../wire/units.ts'
import type { Event } from '../event.ts'
import type { Step } from '../fsm.ts'
import { ownsAddresses, type Parameters } from '../parameters.ts'
import type { Active, Backup, State, StillAnswered } from '../state.ts'
import { type Extension, everyEvent } from './extension.ts'
import { removal } from './leaving.ts'

/**
 * Milliseconds from the winner's announcement to the removal of the address. Clients receive the announcement, too.
 * Packets that clients sent to us before arrive within this time.
 */
const OFF_AFTER_ANNOUNCEMENT = 1
/**
 * Milliseconds from the winner's advertisement to the removal of the addresses. The winner repeats its announcement 50
 * ms after our last advertisement. By then this router no longer answers.
 */
const LONGEST = 20
/**
 * Milliseconds after becoming Active without a grace period. On a busy machine, two routers of equal priority may take
 * over together. The router that loses then removes its addresses immediately, before clients have learned its MAC.
 */
const RACE = 100

type InGracePeriod = Backup & { readonly stillAnswered: readonly StillAnswered[] }

/** Tells whether a Backup still answers for addresses that it lost. */
export const isInGracePeriod = (state: State): state is InGracePeriod =>
  state.name === 'Backup' && state.stillAnswered !== undefined

/**
 * Returns the addresses that a router still answers for after it has lost; `undefined` if the router has no grace
 * period.
 */
export function answeredAfterLosing(
  { since }: Active,
  heardAt: Millis,
  parameters: Parameters,
  now: Millis,
): readonly StillAnswered[] | undefined {
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
        const stillAnswered = answeredAfterLosing(state, event.receivedAt, parameters, now)
        if (stillAnswered === undefined) return [next, effects]
        // Each address is removed later, after the winner has announced that address.
        return [{ ...next, stillAnswered }, effects.filter(({ kind }) => kind !== 'removeAddresses')]
      },
    },
    Backup: everyEvent(isInGracePeriod, stepInGracePeriod),
  },
}

/** Handles an event in the grace period. `asBackup` handles the event as a Backup without addresses does. */
function stepInGracePeriod(
  asBackup: (state: Backup) => Step,
  state: InGracePeriod,
  event: Event,
  parameters: Parameters,
  now: Millis,
): Step {
  if (event.kind === 'announcementHeard') return [withAnnounced(state, event), []]
  const { stillAnswered, ...backup } = state
  const [next, effects] = asBackup(backup)
  // The winner has disappeared, and this router still has the addresses.
  if (next.name === 'Active') return [next, effects]
  const rest = next.name === 'Backup' ? stillAnswered.filter((each) => staysFor(event, each, parameters, now)) : []
  return [still(next, rest), [...removal(stillAnswered.filter((each) => !rest.includes(each))), ...effects]]
}

function staysFor(event: Event, { address, offAt }: StillAnswered, parameters: Parameters, now: Millis): boolean {
  // The guardian has removed the addresses. Addresses that the guardian could not remove must not stay.
  if (event.kind === 'absenceNoticed') return false
  // An address that a reload took from this router is removed immediately, without a grace period.
  if (event.kind === 'parametersChanged') return parameters.addresses.includes(address)
  return now < offAt
}

const still = <S extends State>(state: S, stillAnswered: readonly StillAnswered[]): S | InGracePeriod =>
  state.name === 'Backup' && stillAnswered.length > 0 ? { ...state, stillAnswered } : state

function withAnnounced(
  state: InGracePeriod,
  { address, heardAt }: Extract<Event, { kind: 'announcementHeard' }>,
): Backup {
  const off = plus(heardAt, OFF_AFTER_ANNOUNCEMENT)
  const stillAnswered = state.stillAnswered.map((each) =>
    each.address === address ? { address, offAt: millis(Math.min(each.offAt, off)) } : each,
  )
  return { ...state, stillAnswered }
}
