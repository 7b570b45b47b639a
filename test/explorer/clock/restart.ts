/**
 * Models the restart of an engine that was killed (docs/adr/0088). The address waits, the clock thread advertises, and
 * the next engine adopts both. The next engine may start at any time, or never.
 */
import { type Rules, type State, type Step, TICKS } from './state.ts'

/** Tells whether the address of a dead engine may wait for the next one: the clock advertises, and nothing is unread. */
export const isAdoptable = (state: State): boolean =>
  state.engine === 'dead' &&
  state.restart === 'none' &&
  state.restarts === 0 &&
  state.clock !== undefined &&
  !state.stoppedForNews

export const beginRestart = (state: State): State => ({ ...state, restart: 'waiting', waited: 0, restarts: 1 })

export const isWaiting = ({ restart }: State): boolean => restart !== 'none'

/** Tells whether the wait has to end: its time is over, or a frame arrived that no engine has read. */
export const mustEnd = (state: State, rules: Rules): boolean =>
  isWaiting(state) &&
  ((rules.newsEndsWait && state.unread) ||
    (rules.adoptionEnds && state.waited >= TICKS.adoption) ||
    state.clock === undefined)

/** Tells whether the executor has lent the clock no more time. */
export const isLentOut = (state: State, rules: Rules): boolean =>
  rules.lendsTime && isWaiting(state) && state.silent >= TICKS.lease

/** Returns what may happen to a waiting address at any time. */
export function restartSurprises(state: State): Step[] {
  if (state.restart !== 'waiting') return []
  const steps: Step[] = []
  if (state.engine === 'dead')
    // A frame on its way finds no socket of the next engine.
    steps.push({
      text: 'the next engine opens its sockets',
      next: { ...state, engine: 'Adopting', at: 'adopt', engineQueue: [], between: undefined },
    })
  if (state.orders > 0)
    steps.push({
      text: 'SIGTERM without an engine',
      next: { ...state, orders: state.orders - 1, engine: 'dead', at: 'idle', restart: 'none', engineQueue: [] },
    })
  return steps
}

/** Returns the next engine after it has looked at the shared memory. */
export function adopt(state: State, rules: Rules): Step[] {
  const { clock } = state
  if (state.plan !== 'armed' || clock === undefined)
    return [
      {
        text: 'engine starts as a Backup',
        next: { ...state, engine: 'Backup', at: 'receive', mark: 'none', address: false },
      },
    ]
  const address = rules.spares && state.address
  const next: State = { ...state, engine: 'Active', at: 'receive', mark: 'fresh', says: clock, address }
  return [{ text: 'engine adopts the address', next: { ...next, restart: 'settling', slept: false } }]
}

/** Returns the end of the wait. The clock thread first reads the frames that arrived before. */
export const settle = (state: State): Step[] => [
  { text: 'clock ends the wait', next: { ...state, restart: 'none', asked: false, askedFor: 0 } },
]
