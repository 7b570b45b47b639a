/** Defines wrong state machines, to test that the explorer finds them. */
import { extendedStep as step } from '../../src/vrrp/extensions/index.ts'
import type { Leaving } from '../../src/vrrp/state.ts'
import { plus } from '../../src/wire/units.ts'
import type { Machine } from './node-step.ts'

export const MUTANTS: Readonly<Record<string, Machine>> = {
  /** Lines (725) and (735) of RFC 9568 are missing: an Active ignores other advertisements. */
  'an Active that hears nobody': (state, event, parameters, now) =>
    state.name === 'Active' && event.kind === 'advertisementReceived' && event.advertisement.priority > 0
      ? [state, []]
      : step(state, event, parameters, now),
  /** Line (735) of RFC 9568 is inverted: two nodes with equal priority both stay Active. */
  'an Active that never yields to an equal': (state, event, parameters, now) =>
    state.name === 'Active' &&
    event.kind === 'advertisementReceived' &&
    event.advertisement.priority === parameters.priority
      ? [state, []]
      : step(state, event, parameters, now),
  /** Line (365) of RFC 9568 is missing: a Backup whose timer expires does not become Active. */
  'a Backup that never expires': (state, event, parameters, now) =>
    state.name === 'Backup' && event.kind === 'deadlineReached' && state.stillAnswered === undefined
      ? [{ ...state, activeDownAt: plus(now, 4_000) }, []]
      : step(state, event, parameters, now),
  /** Line (445) of RFC 9568 does not restart the Backup's timer. */
  'a Backup that does not follow': (state, event, parameters, now) => {
    const [next, effects] = step(state, event, parameters, now)
    if (state.name !== 'Backup' || next.name !== 'Backup' || event.kind !== 'advertisementReceived')
      return [next, effects]
    return [{ ...next, activeDownAt: state.activeDownAt }, effects]
  },
  /** The addresses of a router stay after the router has gone. */
  'a router that leaves its addresses': (state, event, parameters, now) => {
    const [next, effects] = step(state, event, parameters, now)
    return [next, effects.filter(({ kind }) => kind !== 'removeAddresses')]
  },
  /** The state Leaving has no end. */
  'a router that leaves and stays': (state, event, parameters, now) =>
    state.name === 'Leaving' && event.kind === 'deadlineReached'
      ? [
          { ...state, repeatAt: undefined, until: plus(now, 4_000), stillAnswered: state.stillAnswered.map(unending) },
          [],
        ]
      : step(state, event, parameters, now),
  /** When another node claims the addresses, the router forgets the addresses and does not remove them. */
  'a router that forgets what is claimed': (state, event, parameters, now) =>
    state.name === 'Leaving' && event.kind === 'announcementHeard'
      ? [{ ...state, stillAnswered: [] }, []]
      : step(state, event, parameters, now),
  /** Line (445) of RFC 9568 is without Active_Adver_Interval (RFC 9568 §6.4.2). */
  'a Backup that learns no interval': (state, event, parameters, now) => {
    if (state.name !== 'Backup' || event.kind !== 'advertisementReceived') return step(state, event, parameters, now)
    const advertisement = { ...event.advertisement, interval: parameters.advertisementInterval }
    return step(state, { ...event, advertisement }, parameters, now)
  },
  /** The preemptDelay timer restarts with each advertisement of the node with lower priority. */
  'a Backup that waits for ever': (state, event, parameters, now) =>
    step(state.name === 'Backup' ? { ...state, preemptAt: undefined } : state, event, parameters, now),
}

const unending = ({ address }: Leaving['stillAnswered'][number]) => ({ address, offAt: undefined })
