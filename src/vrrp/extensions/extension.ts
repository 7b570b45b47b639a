/**
 * Defines an extension: a wrapper around the state machine of RFC 9568 (fsm.ts), written as a table of cells. A cell is
 * one event in one state. The wrapper of a cell receives the state machine inside. The wrapper passes the event on,
 * drops it, or changes the next state and the effects. `extension.ts` decides how extensions become one state machine.
 * Which extensions exist is decided in index.ts.
 */
import type { Millis } from '../../wire/units.ts'
import { EVENT_KINDS, type Event } from '../event.ts'
import { type Step, step } from '../fsm.ts'
import type { Parameters } from '../parameters.ts'
import { STATE_NAMES, type State } from '../state.ts'

/** A state machine: returns the next state and the effects of an event. */
export type Stepper = (state: State, event: Event, parameters: Parameters, now: Millis) => Step

type Name = State['name']
type Kind = Event['kind']
type Called<N extends Name> = Extract<State, { readonly name: N }>
type OfKind<K extends Kind> = Extract<Event, { readonly kind: K }>

/** Handles one event in one state (a cell). `inner` is the same cell of the state machine inside. */
export type Wrapper<N extends Name, K extends Kind> = (
  inner: (state: Called<N>, event: OfKind<K>, parameters: Parameters, now: Millis) => Step,
  state: Called<N>,
  event: OfKind<K>,
  parameters: Parameters,
  now: Millis,
) => Step

export type Cells = { readonly [N in Name]?: { readonly [K in Kind]?: Wrapper<N, K> } }

type Pending = { readonly [N in Name]?: (state: Called<N>) => boolean }

export type Extension = {
  readonly name: string
  /** Tells whether the options turn the extension on. */
  readonly isOn: (parameters: Parameters) => boolean
  /**
   * Tells whether the extension has something to finish in a state. An extension finishes even after a reload has
   * turned it off.
   */
  readonly isPending?: Pending
  readonly wraps: Cells
}

/** Turns an extension on in every profile. Meant for extensions that handle events which the RFC does not have. */
export const always = (): boolean => true

/**
 * Returns one wrapper for every event of a state. If `applies` returns false, the event goes to the state machine
 * inside.
 */
export function everyEvent<N extends Name, S extends Called<N>>(
  applies: (state: State) => state is S,
  wrapper: (inner: (state: Called<N>) => Step, state: S, event: Event, parameters: Parameters, now: Millis) => Step,
): { readonly [K in Kind]?: Wrapper<N, K> } {
  const wrapped =
    <K extends Kind>(): Wrapper<N, K> =>
    (inner, state, event, parameters, now) =>
      applies(state)
        ? wrapper((inside) => inner(inside, event, parameters, now), state, event, parameters, now)
        : inner(state, event, parameters, now)
  return Object.fromEntries(EVENT_KINDS.map((kind) => [kind, wrapped()]))
}

type Table = Readonly<Record<Name, Readonly<Record<Kind, Stepper>>>>
/**
 * A wrapper without the types of its state and event. The table calls each wrapper only for its own state and event.
 */
type AnyWrapper = (inner: Stepper, state: State, event: Event, parameters: Parameters, now: Millis) => Step

/**
 * Returns the machine of RFC 9568 with these extensions around it, the first one outermost. Without extensions, returns
 * `step` itself.
 */
export function compose(extensions: readonly Extension[]): Stepper {
  if (extensions.length === 0) return step
  const table = tableOf(extensions)
  return (state, event, parameters, now) => table[state.name][event.kind](state, event, parameters, now)
}

/** Returns the names of the extensions that wrap this event in this state, outermost first. */
export function wrappersOf(extensions: readonly Extension[], name: Name, kind: Kind): readonly string[] {
  return extensions.filter(({ wraps }) => wraps[name]?.[kind] !== undefined).map((extension) => extension.name)
}

function tableOf(extensions: readonly Extension[]): Table {
  const row = (name: Name) =>
    Object.fromEntries(EVENT_KINDS.map((kind) => [kind, cell(extensions, name, kind)])) as Table[Name]
  return Object.fromEntries(STATE_NAMES.map((name) => [name, row(name)])) as Table
}

function cell(extensions: readonly Extension[], name: Name, kind: Kind): Stepper {
  return extensions.reduceRight<Stepper>((inner, { wraps }) => {
    const wrapper = wraps[name]?.[kind] as AnyWrapper | undefined
    if (wrapper === undefined) return inner
    return (state, event, parameters, now) => wrapper(inner, state, event, parameters, now)
  }, step)
}
