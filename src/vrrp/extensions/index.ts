/**
 * The state machine of the daemon: `step` of fsm.ts with the extensions around it that the parameters turn on.
 * `index.ts` decides which extensions exist, and their order, and does not know what an extension does.
 */
import type { Millis } from '../../wire/units.ts'
import type { Event } from '../event.ts'
import type { Step } from '../fsm.ts'
import type { Parameters } from '../parameters.ts'
import type { State } from '../state.ts'
import { competingActive } from './competing-active.ts'
import { compose, type Extension, type Stepper } from './extension.ts'
import { faults } from './faults.ts'
import { gracePeriod } from './grace-period.ts'
import { lastAdvertisement } from './last-advertisement.ts'
import { leaving } from './leaving.ts'
import { lostPackets } from './lost-packets.ts'
import { phase } from './phase.ts'
import { fastPreempt } from './preemption/fast-preempt.ts'
import { margin } from './preemption/margin.ts'
import { preemptDelay } from './preemption/preempt-delay.ts'
import { advertiseChange, priorityChange } from './priority-change.ts'
import { releaseOfActive } from './release-of-active.ts'
import { reload } from './reload.ts'
import { returning } from './returning.ts'
import { silentActive } from './silent-active.ts'
import { stagger } from './stagger.ts'
import { succession } from './succession.ts'
import { yieldAside } from './yield.ts'

/**
 * All extensions, outermost first. If two extensions wrap the same event in the same state,
 * test/unit/vrrp/extensions/extensions.test.ts has the reason for their order.
 */
export const EXTENSIONS: readonly Extension[] = [
  gracePeriod,
  faults,
  lostPackets,
  releaseOfActive,
  lastAdvertisement,
  phase,
  stagger,
  margin,
  preemptDelay,
  fastPreempt,
  competingActive,
  silentActive,
  succession,
  leaving,
  yieldAside,
  returning,
  priorityChange,
  advertiseChange,
  reload,
]

/** Returns the extensions that the parameters turn on, outermost first. */
export const extensionsOf = (parameters: Parameters): readonly Extension[] =>
  EXTENSIONS.filter(({ isOn }) => isOn(parameters))

/** A set of extensions as a bit mask. The lowest bit is the first extension of the list. */
type Bits = number
type Machine = { readonly bits: Bits; readonly step: Stepper }

const bitOf = (extension: Extension): Bits => 1 << EXTENSIONS.indexOf(extension)

const composed = new Map<Bits, Machine>()
const known = new WeakMap<Parameters, Machine>()

/**
 * Returns the next state of one virtual router and its effects. If the parameters turn an extension off, that extension
 * still finishes what it has begun.
 */
export function extendedStep(state: State, event: Event, parameters: Parameters, now: Millis): Step {
  const machine = known.get(parameters) ?? machineFor(parameters)
  const pending = pendingIn(state) & ~machine.bits
  const { step } = pending === 0 ? machine : machineOf(machine.bits | pending)
  return step(state, event, parameters, now)
}

function machineFor(parameters: Parameters): Machine {
  const machine = machineOf(extensionsOf(parameters).reduce((bits, one) => bits | bitOf(one), 0))
  known.set(parameters, machine)
  return machine
}

function machineOf(bits: Bits): Machine {
  const before = composed.get(bits)
  if (before !== undefined) return before
  const machine = { bits, step: compose(EXTENSIONS.filter((one) => (bits & bitOf(one)) !== 0)) }
  composed.set(bits, machine)
  return machine
}

const endingIn = <N extends State['name']>(name: N) =>
  EXTENSIONS.flatMap((one) => {
    const isPending = one.isPending?.[name]
    return isPending === undefined ? [] : [{ bit: bitOf(one), isPending }]
  })
const IN_ACTIVE = endingIn('Active')
const IN_BACKUP = endingIn('Backup')
const IN_LEAVING = endingIn('Leaving')

/**
 * Returns the extensions that have something to finish in this state. In Initialize and Returning, faults.ts and
 * returning.ts are among them in every profile.
 */
function pendingIn(state: State): Bits {
  let bits = 0
  if (state.name === 'Active') for (const { bit, isPending } of IN_ACTIVE) if (isPending(state)) bits |= bit
  if (state.name === 'Backup') for (const { bit, isPending } of IN_BACKUP) if (isPending(state)) bits |= bit
  if (state.name === 'Leaving') for (const { bit, isPending } of IN_LEAVING) if (isPending(state)) bits |= bit
  return bits
}
