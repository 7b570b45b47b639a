/**
 * Models the guardian: the clock thread sends advertisements at their times, and the executor thread executes the
 * cleanup plan.
 */
import { send } from './lan.ts'
import { beginRestart, isAdoptable, isLentOut, isWaiting, mustEnd, settle } from './restart.ts'
import { PRIORITY, type Rules, type State, type Step, TICKS } from './state.ts'

const clock = (text: string, next: State): Step[] => [{ text: `clock ${text}`, next }]
const executor = (text: string, next: State): Step[] => [{ text: `executor ${text}`, next }]

const hasSlept = (state: State, rules: Rules) => state.slept && rules.noticesSleep
/**
 * Returns true if the clock is more than one interval late, so that the peer may already have taken over. The engine's
 * own timer handles this case.
 */
const isLate = (state: State, rules: Rules) =>
  state.sent >= 2 * TICKS.interval || hasSlept(state, rules) || isLeaseOver(state, rules) || isLentOut(state, rules)
/**
 * Returns true if the engine's lease is over. The lease counts from the guardian's question, so a guardian that stood
 * still must ask before it judges.
 */
const isLeaseOver = (state: State, rules: Rules) =>
  rules.lease && !isWaiting(state) && state.askedFor >= TICKS.lease / 2

export function clockSteps(state: State, rules: Rules): Step[] {
  if (state.stopped.clock) return []
  switch (state.clockAt) {
    case 'idle':
      if (state.restart === 'settling' && !rules.drainsAtEnd) return settle(state)
      if (state.guardianQueue > 0) return clock('reads news', readNews(state, rules))
      if (state.restart === 'settling' && canSettle(state, rules)) return settle(state)
      if (!isWaiting(state) && !state.asked && state.clock !== undefined && state.proof >= TICKS.lease / 2)
        return clock('asks for a proof', { ...state, asked: true })
      if (isHeldTooLong(state, rules))
        return clock('stops, because news holds its round', { ...state, stoppedForNews: true })
      return isDue(state, rules) ? clock('is due', { ...state, clockAt: 'claim' }) : []
    case 'claim':
      return state.clock === undefined
        ? clock('finds its word withdrawn', { ...state, clockAt: 'idle' })
        : clock('claims its word', {
            ...{ ...state, clockBusy: true, held: state.clock },
            clockAt: rules.checksAtSending ? 'check' : 'send',
          })
    case 'check':
      return isForbidden(state, rules)
        ? clock('keeps silent: it is late, or a word was withdrawn', { ...state, clockAt: 'free' })
        : clock('sends its question', { ...state, clockAt: 'ask' })
    case 'ask':
      return rules.checksEachFrame && isForbidden(state, rules)
        ? clock('keeps silent after its question', { ...state, clockAt: 'free' })
        : clock('may send', { ...state, clockAt: 'send' })
    case 'send':
      return clock(`sends ${state.held}`, { ...send(state, state.held ?? PRIORITY.release), clockAt: 'free' })
    case 'free':
      return clock('frees its word', { ...state, clockBusy: false, held: undefined, clockAt: 'idle' })
  }
}

/** The executor reads that the next engine has settled, and tells the clock thread. */
const canSettle = (state: State, rules: Rules): boolean =>
  !mustEnd(state, rules) && !isLentOut(state, rules) && !state.stopped.executor

const isForbidden = (state: State, rules: Rules): boolean =>
  state.clock === undefined || isLate(state, rules) || (rules.checksPlan && state.plan !== 'armed')

const isHeldTooLong = (state: State, rules: Rules): boolean =>
  rules.newsBound &&
  state.clock !== undefined &&
  state.unread &&
  !state.stoppedForNews &&
  !isWaiting(state) &&
  state.sent > TICKS.interval

const isDue = (state: State, rules: Rules): boolean =>
  state.clock !== undefined &&
  state.sent >= TICKS.interval &&
  !isLate(state, rules) &&
  !mustEnd(state, rules) &&
  !state.stoppedForNews &&
  !(rules.newsStop && state.unread)

const readNews = (state: State, rules: Rules): State => ({
  ...state,
  guardianQueue: 0,
  unread: true,
  asked: state.asked || (rules.asksForNews && !isWaiting(state)),
  mark: state.mark === 'fresh' ? 'stale' : state.mark,
})

export function executorSteps(state: State, rules: Rules): Step[] {
  if (state.stopped.executor) return []
  switch (state.executorAt) {
    case 'idle':
      return wait(state, rules)
    case 'awaitClock':
      return awaitClock(state, rules)
    case 'remove':
      return executor('removes the address', { ...state, address: false, executorAt: 'release' })
    case 'release':
      return executor('has executed the plan', release(state))
  }
}

function wait(state: State, rules: Rules): Step[] {
  if (state.overtaken && !state.clockBusy) {
    const seen = { ...state, overtaken: false }
    return executor('announces again', rules.repeats && state.plan === 'executed' ? send(seen, PRIORITY.release) : seen)
  }
  if (state.plan === 'armed' && isAdoptable(state)) return executor('lets the address wait', beginRestart(state))
  if (state.plan === 'armed' && isOver(state, rules))
    return executor('begins', {
      ...state,
      plan: 'executed',
      restart: 'none',
      lostNews: false,
      executorAt: rules.executorWaits ? 'awaitClock' : 'remove',
    })
  return []
}

const isOver = (state: State, rules: Rules): boolean =>
  (state.engine === 'dead' && !isWaiting(state)) ||
  mustEnd(state, rules) ||
  state.sent >= TICKS.deadline ||
  hasSlept(state, rules)

function awaitClock(state: State, rules: Rules): Step[] {
  const stopped = { ...state, executorAt: 'remove' as const }
  if (!state.clockBusy) return executor('finds the clock idle', stopped)
  return state.stopped.clock ? executor('no longer waits for the clock', { ...stopped, overtaken: rules.repeats }) : []
}

/**
 * Returns the state after the guardian's priority 0. Long after the deadline another node has taken over, and priority
 * 0 would mislead the LAN, so none is sent then.
 */
function release(state: State): State {
  const done = { ...state, executorAt: 'idle' as const, slept: false }
  return state.slept || state.sent > TICKS.deadline + TICKS.grace ? done : send(done, PRIORITY.release)
}
