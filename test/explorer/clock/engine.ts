/**
 * Models the engine: it runs one turn after the other. A turn begins with the first receive, and ends with the proof
 * that no packet was left to read.
 */
import { send } from './lan.ts'
import { adopt, isWaiting } from './restart.ts'
import { type Goal, PRIORITY, type Rules, type State, type Step, TICKS } from './state.ts'

const step = (text: string, next: State): Step[] => [{ text: `engine ${text}`, next }]

export function engineSteps(state: State, rules: Rules): Step[] {
  if (state.stopped.engine || state.engine === 'dead') return []
  switch (state.at) {
    case 'idle':
      return isAwake(state, rules) ? step('wakes', look(state, rules)) : []
    case 'adopt':
      return adopt(state, rules)
    case 'receive':
      return receive(state, rules)
    case 'prove':
      return step('proves that it has read everything', prove(state, rules))
    case 'withdraw':
      return step('withdraws the clock', { ...state, clock: undefined, at: 'wait' })
    case 'wait':
      return wait(state)
    case 'say':
      return wasExecuted(state) && state.says !== PRIORITY.release
        ? takeExecution(state, rules)
        : step(`sends ${state.says}`, say(state))
    case 'arm':
      return step('arms the clock', arm(state, rules))
    case 'disarm':
      return step('withdraws its plan', disarm(state, rules))
    case 'remove':
      return step(
        'removes the address',
        look({ ...state, address: false, goal: undefined, ...after(state.goal) }, rules),
      )
  }
}

/** Returns the state before a receive. The proof that the engine has read everything is as old as this moment. */
const look = (state: State, rules: Rules): State => ({
  ...state,
  at: 'receive',
  mark: rules.margin && state.between !== undefined ? 'stale' : 'fresh',
})

const isActive = ({ engine }: State) => engine === 'Active'
const isFreed = (state: State) => state.alone && !state.clockBusy
const isClockLate = (state: State, rules: Rules) =>
  isActive(state) && !state.alone && (state.stoppedForNews || (rules.sharedTimer && state.sent >= TICKS.clockLate))
const isOwnTurn = (state: State) => isActive(state) && state.alone && state.sent >= TICKS.interval
const isUnguarded = (state: State) => isActive(state) && state.silent >= TICKS.patience
const isLeft = (state: State) => state.engine === 'Leaving' && state.sent >= TICKS.deadline - 1
const isBack = (state: State) =>
  state.engine === 'Returning' && state.returning >= TICKS.interval && state.executorAt === 'idle'
const wasExecuted = (state: State) =>
  state.plan === 'executed' && (state.engine === 'Active' || state.engine === 'Leaving')
const wasAway = (state: State, rules: Rules) =>
  isActive(state) && (state.sent > TICKS.deadline || !state.address || (rules.noticesSleep && state.slept))

const isAwake = (state: State, rules: Rules): boolean =>
  state.engineQueue.length > 0 ||
  state.order !== undefined ||
  state.asked ||
  isFreed(state) ||
  isClockLate(state, rules) ||
  isOwnTurn(state) ||
  isUnguarded(state) ||
  isLeft(state) ||
  isBack(state) ||
  wasExecuted(state) ||
  wasAway(state, rules)

const SAID = { demote: PRIORITY.low, restore: PRIORITY.high, stop: PRIORITY.release } as const
const isOrder = (goal: Goal | undefined): goal is keyof typeof SAID => goal !== undefined && goal in SAID
const speaks = (goal: Goal | undefined): boolean => isOrder(goal) || goal === 'cover'

const begin = (state: State, goal: Goal, rules: Rules): State => {
  const at = rules.withdraws ? 'withdraw' : speaks(goal) ? 'say' : 'disarm'
  return {
    ...state,
    goal,
    stoppedForNews: false,
    says: (isOrder(goal) ? SAID[goal] : undefined) ?? state.says,
    at,
    mark: 'none',
    order: isOrder(goal) ? undefined : state.order,
  }
}

function receive(state: State, rules: Rules): Step[] {
  if (wasExecuted(state)) return takeExecution(state, rules)
  if (wasAway(state, rules)) return step('was away', begin({ ...state, order: undefined }, 'return', rules))
  const [heard, ...rest] = state.engineQueue
  if (heard !== undefined) return hear({ ...state, engineQueue: rest }, heard, rules)
  if (isFreed(state)) return step('finds the clock free', freed(state, rules))
  if (state.order !== undefined)
    return isActive(state)
      ? step(`is ordered to ${state.order}`, begin(state, state.order, rules))
      : step('has nothing to do', look({ ...state, order: undefined }, rules))
  if (isUnguarded(state)) return step('leaves without its guardian', begin(state, 'stop', rules))
  if (isClockLate(state, rules)) return step('covers for the clock', begin(state, 'cover', rules))
  if (isOwnTurn(state)) return step('advertises itself', look(send(state, state.says), rules))
  if (isLeft(state)) return step('has waited for a successor', begin(state, 'end', rules))
  if (isBack(state)) return step('asks for the address', back(state, rules))
  return step('finds its socket empty', { ...state, at: 'prove' })
}

const takeExecution = (state: State, rules: Rules): Step[] =>
  step(
    'sees that its plan was executed',
    look(
      { ...state, engine: 'Returning', goal: undefined, returning: 0, alone: false, order: undefined, slept: false },
      rules,
    ),
  )

function hear(state: State, priority: number, rules: Rules): Step[] {
  if (state.engine === 'Active' && priority > state.says) return step('loses', begin(state, 'lose', rules))
  if (state.engine === 'Active') return step('answers a lower priority', look(send(state, state.says), rules))
  if (state.engine === 'Leaving' && priority === PRIORITY.peer)
    return step('hears its successor', begin(state, 'end', rules))
  if (state.engine === 'Returning' && priority === PRIORITY.peer)
    return step('hears an Active', look({ ...state, engine: 'Backup' }, rules))
  return step('hears nothing new', look(state, rules))
}

/**
 * Returns the state after the clock thread has freed its word. The thread may have sent its frame after the engine has
 * sent another one.
 */
const freed = (state: State, rules: Rules): State => {
  const free = { ...state, alone: false }
  const word = state.engine === 'Active' ? state.says : PRIORITY.release
  const said = rules.repeats ? send(free, word) : free
  return state.engine === 'Active' ? { ...said, at: 'arm', mark: 'none' } : look(said, rules)
}

function back(state: State, rules: Rules): State {
  if (state.peerActive) return look({ ...state, engine: 'Backup' }, rules)
  const active = {
    ...state,
    engine: 'Active' as const,
    address: true,
    renewed: 0,
    plan: 'armed' as const,
    returning: 0,
  }
  return { ...send(active, state.says), alone: state.clockBusy, proof: 0, at: 'arm', mark: 'none' }
}

/**
 * Returns the steps of an engine that waits for the clock thread, at most 5 ms. If the wait ends, the clock thread
 * stands still and the engine goes on without the clock thread.
 */
function wait(state: State): Step[] {
  if (state.clockBusy && !state.stopped.clock) return []
  const alone = state.alone || state.clockBusy
  const text = state.clockBusy ? 'no longer waits for the clock' : 'finds the clock idle'
  return step(text, { ...state, alone, at: speaks(state.goal) ? 'say' : 'disarm' })
}

function say(state: State): State {
  const said = send(state, state.says)
  if (state.goal === 'stop') return { ...said, engine: 'Leaving', goal: undefined, at: 'idle', sinceWord: 0 }
  return state.goal === 'demote' ? { ...said, at: 'arm', sinceWord: 0 } : { ...said, at: 'arm' }
}

/**
 * Returns the state after the engine has withdrawn its cleanup plan. If the guardian has executed the plan, the engine
 * returns as after any absence.
 */
const disarm = (state: State, rules: Rules): State =>
  state.plan === 'executed' ? look({ ...state, goal: undefined }, rules) : { ...state, plan: 'none', at: 'remove' }

const arm = (state: State, rules: Rules): State =>
  look({ ...state, goal: undefined, clock: state.alone ? undefined : state.says, stoppedForNews: false }, rules)

const after = (goal: Goal | undefined): Partial<State> =>
  goal === 'return' ? { engine: 'Returning', returning: 0, slept: false } : { engine: 'Backup' }

const prove = (state: State, rules: Rules): State => {
  // The next engine cannot have read what arrived before its start.
  const counts = (!rules.marksBefore || state.mark === 'fresh') && !(isWaiting(state) && rules.newsEndsWait)
  return {
    ...state,
    at: 'idle',
    mark: 'none',
    unread: counts ? state.forged : state.unread,
    asked: counts ? false : state.asked,
    askedFor: counts ? 0 : state.askedFor,
    proof: counts ? 0 : state.proof,
  }
}
