/**
 * Models the LAN, the kernel, the peer and the faults. The peer follows RFC 9568 §6.4 with preemption, and is never
 * late.
 */
import { restartSurprises } from './restart.ts'
import { type Fault, LONGEST, PRIORITY, type Priority, type State, type Step, TICKS } from './state.ts'

/**
 * Delivers the node's frame to the peer, which follows RFC 9568 §6.4.2 and §6.4.3, with fastPreempt for a lowered
 * priority.
 */
export function send(state: State, priority: Priority): State {
  const now: State = { ...state, sent: 0, lastWord: priority }
  if (state.peerActive)
    return priority > PRIORITY.peer
      ? { ...now, peerActive: false, peerTimer: 0, peerWait: TICKS.activeDown }
      : priority === PRIORITY.release
        ? now
        : advertise(now)
  if (priority > PRIORITY.peer) return { ...now, peerTimer: 0, peerWait: TICKS.activeDown }
  return state.peerWait === TICKS.skew ? now : { ...now, peerTimer: 0, peerWait: TICKS.skew }
}

/** Delivers the peer's advertisement to the node: first to the guardian's socket, then to the engine's socket. */
const advertise = (state: State): State => arrive({ ...state, peerActive: true, peerTimer: 0 }, PRIORITY.peer)

/**
 * Adds a frame to the engine's receive queue. If more than two frames wait, only the last two are kept, because the
 * effect is the same.
 */
const arrive = (state: State, priority: Priority): State => ({
  ...state,
  engineQueue: state.between === undefined ? state.engineQueue : [...state.engineQueue, state.between].slice(-2),
  between: priority,
  guardianQueue: 1,
  lostNews: state.lostNews || (state.engine === 'dead' && state.plan === 'armed'),
})

export function lanSteps(state: State): Step[] {
  const steps: Step[] = []
  if (state.between !== undefined)
    steps.push({
      text: "the frame is in the engine's socket",
      next: { ...state, between: undefined, engineQueue: [...state.engineQueue, state.between].slice(-2) },
    })
  if (!state.peerActive && state.peerTimer >= state.peerWait)
    steps.push({ text: 'the peer takes over', next: advertise(state) })
  if (state.peerActive && state.peerTimer >= TICKS.interval)
    steps.push({ text: 'the peer advertises', next: advertise(state) })
  if (state.address && state.renewed >= TICKS.lifetime)
    steps.push({ text: 'the kernel removes the expired address', next: { ...state, address: false } })
  return steps
}

/** Returns the steps in which a fault begins. A fault may begin at any time. */
export function surprises(state: State, kinds: readonly Fault[]): Step[] {
  const steps: Step[] = []
  const { stopped } = state
  const alive = state.engine !== 'dead'
  if (state.news > 0)
    steps.push({
      text: 'a third router of lower priority advertises',
      next: arrive({ ...state, news: state.news - 1 }, PRIORITY.low),
    })
  if (state.orders > 0 && state.order === undefined && alive && state.engine === 'Active') {
    const less = { ...state, orders: state.orders - 1 }
    if (state.says === PRIORITY.high)
      steps.push({ text: 'a check fails', next: { ...less, order: 'demote', demoted: true } })
    else steps.push({ text: 'the check succeeds', next: { ...less, order: 'restore' } })
    steps.push({ text: 'SIGTERM', next: { ...less, order: 'stop' } })
  }
  for (const each of ['engine', 'clock', 'executor'] as const)
    if (stopped[each] && !(each === 'engine' && !alive))
      steps.push({ text: `${each} goes on`, next: { ...state, stopped: { ...stopped, [each]: false } } })
  steps.push(...restartSurprises(state))
  if (state.faults === 0) return steps
  for (const kind of kinds) {
    const change = faultOf(kind, state)
    if (change !== undefined)
      steps.push({ text: `fault: ${kind}`, next: noted({ ...state, faults: state.faults - 1, ...change }) })
  }
  return steps
}

/**
 * Returns what a fault changes in the state; `undefined` if the fault has happened already. Every fault except `kill`
 * and `sleep` stops a part of the node.
 */
function faultOf(kind: Fault, state: State): Partial<State> | undefined {
  const { engine, clock, executor } = state.stopped
  const alive = state.engine !== 'dead'
  switch (kind) {
    case 'engine':
      return alive && !engine ? { stopped: { ...state.stopped, engine: true } } : undefined
    case 'clock':
      return clock ? undefined : { stopped: { ...state.stopped, clock: true } }
    case 'executor':
      return executor ? undefined : { stopped: { ...state.stopped, executor: true } }
    case 'executorInWait':
      return executor || state.restart === 'none' ? undefined : { stopped: { ...state.stopped, executor: true } }
    case 'guardian':
      return clock || executor ? undefined : { stopped: { engine, clock: true, executor: true } }
    case 'node':
      return engine || clock || executor ? undefined : { stopped: { engine: true, clock: true, executor: true } }
    case 'kill':
      return alive
        ? {
            engine: 'dead',
            at: 'idle',
            mark: 'none',
            engineQueue: [],
            order: undefined,
            goal: undefined,
            restart: 'none',
          }
        : undefined
    case 'sleep':
      return state.two === 0 && !state.slept ? sleep(state) : undefined
  }
}

/** Lets time pass for the peer, but not for the node, which sleeps. */
function sleep(state: State): Partial<State> {
  const { peerActive } = state
  if (peerActive) return { slept: true }
  const { peerTimer, guardianQueue, between, engineQueue } = advertise(state)
  return { slept: true, peerActive: true, peerTimer, guardianQueue, between, engineQueue }
}

function noted(state: State): State {
  const { engine, clock, executor } = state.stopped
  const guardian = clock || executor
  const away = engine || state.engine === 'dead'
  return {
    ...state,
    seen: {
      engine: state.seen.engine || away,
      guardian: state.seen.guardian || guardian,
      both: state.seen.both || (away && guardian) || state.slept,
      slept: state.seen.slept || state.slept,
      torn: state.seen.torn || ((clock || state.slept) && state.clockAt === 'send'),
    },
  }
}

const more = (ticks: number, longest: number) => Math.min(ticks + 1, longest)

/** Lets half an advertisement interval pass. The executor renews the address here while the cleanup plan is armed. */
export function tick(state: State): State {
  const renews = state.plan === 'armed' && !state.stopped.executor && state.executorAt === 'idle'
  const holders = Number(state.address) + Number(state.peerActive)
  return {
    ...state,
    renewed: state.address && !renews ? more(state.renewed, LONGEST.renewed) : 0,
    sent: more(state.sent, LONGEST.sent),
    proof: more(state.proof, LONGEST.proof),
    askedFor: state.asked ? more(state.askedFor, LONGEST.asked) : 0,
    waited: state.restart === 'none' ? 0 : more(state.waited, LONGEST.waited),
    silent: state.stopped.executor ? more(state.silent, LONGEST.silent) : 0,
    peerTimer: more(state.peerTimer, LONGEST.peer),
    returning: state.engine === 'Returning' ? more(state.returning, LONGEST.returning) : 0,
    away: state.stopped.engine ? more(state.away, LONGEST.away) : 0,
    sinceWord: more(state.sinceWord, LONGEST.word),
    two: holders === 2 ? more(state.two, LONGEST.measured) : 0,
    none: holders === 0 ? more(state.none, LONGEST.measured) : 0,
  }
}
