/**
 * Models deferred reading on a Backup (native/addon/defer.c): its socket, the news socket with its filter, the timer, and
 * an Active that repeats its advertisement until it falls silent. The kernel puts a packet into the two sockets one after
 * the other, in any order. Time passes in ticks of half an interval, and only when no running process has a step left.
 */

/** A repetition, or a packet that differs. */
type Packet = 'repetition' | 'news'
type Queued = { readonly packet: Packet; readonly age: number }

export const INTERVAL = 2
/** Active_Down_Interval in ticks. */
export const DOWN = 7
const LATEST = DOWN + 3

type Deferred = {
  readonly queue: readonly Queued[]
  readonly newsQueue: number
  /** Packet that has not reached both sockets; `undefined` if there is none. */
  readonly flying: { readonly packet: Packet; readonly toMain: boolean; readonly toNews: boolean } | undefined
  /** True while the filter of the news socket accepts what no watch expects. */
  readonly isFiltered: boolean
  readonly isPolled: boolean
  readonly isDeferred: boolean
  /** True until the socket was read once more after the beginning of the deferral. */
  readonly isSettling: boolean
  readonly isWatched: boolean
  /** Place of the event loop. `calm`: it has read repetitions alone, and may defer. */
  readonly at: 'idle' | 'calm' | 'attach' | 'rest'
  /** Ticks since the last repetition that was read, since the last one in the socket, and until the timer fires. */
  readonly heard: number
  readonly truth: number
  readonly timer: number
  readonly next: number
  readonly isSilent: boolean
  readonly isStopped: boolean
  readonly wasStopped: boolean
  readonly hasTakenOver: boolean
  readonly news: number
  readonly orders: number
  readonly stops: number
}

/** Rules of the design. A mutant leaves out one of them. */
export const DEFERRAL = {
  /** A packet in the news socket makes the event loop watch the socket again. It is not only read once. */
  pollsAgain: true,
  /** A millisecond after the beginning, the socket is read once more. A packet was on its way to both sockets. */
  settles: true,
  /** A change of the watch ends the deferral. */
  endsWithWatch: true,
  /** At the deadline the socket is read before the router decides. */
  drains: true,
  /** The next deadline is counted from the kernel's time of the packet, not from the reading. */
  countsFromKernel: true,
}
export type DeferralRules = typeof DEFERRAL
export type DeferralSetting = { readonly news?: number; readonly orders?: number; readonly stops?: number }

type Step = { readonly text: string; readonly next: Deferred; readonly wrong?: string | undefined }

const start = ({ news = 0, orders = 0, stops = 0 }: DeferralSetting): Deferred => ({
  ...{ queue: [], newsQueue: 0, flying: undefined, isFiltered: false, isPolled: true, isDeferred: false },
  ...{ isSettling: false, isWatched: true, at: 'idle', heard: 0, truth: 0, timer: DOWN, next: INTERVAL },
  ...{ isSilent: false, isStopped: false, wasStopped: false, hasTakenOver: false, news, orders, stops },
})

const ended = (state: Deferred): Deferred => ({
  ...state,
  ...{ isPolled: true, isDeferred: false, isFiltered: false, isSettling: false },
})

/** Returns the state after one receive call, which takes the whole queue, and the work that follows. */
function read(state: Deferred, rules: DeferralRules): Deferred {
  let { heard, isWatched } = state
  let isNews = false
  for (const { age, packet } of state.queue) {
    if (packet === 'repetition') heard = rules.countsFromKernel ? Math.min(heard, age) : 0
    if (packet === 'news' || !isWatched) isNews = true
    if (packet === 'news') isWatched = false
  }
  const after = { ...state, queue: [], heard, isWatched, timer: DOWN - heard }
  return isNews ? { ...ended(after), at: 'idle' } : after
}

/** Tells whether a packet waits that the router itself has to see. */
const hidesNews = ({ isWatched, queue }: Deferred): boolean =>
  queue.some(({ packet }) => packet === 'news' || !isWatched)

function loopSteps(state: Deferred, rules: DeferralRules): Step[] {
  if (state.isStopped || state.hasTakenOver) return []
  const { at, flying, isDeferred, isPolled, isSettling, newsQueue, queue, timer } = state
  if (at === 'attach') return [{ text: 'attaches the filter', next: { ...state, isFiltered: true, at: 'rest' } }]
  if (at === 'rest') {
    const resting = { ...state, isPolled: false, isDeferred: true, isSettling: rules.settles, at: 'idle' } as const
    return [{ text: 'stops watching the socket', next: resting }]
  }
  const steps: Step[] = []
  const idle: Deferred = { ...state, at: 'idle' }
  if (at === 'calm') steps.push({ text: 'begins to defer', next: { ...state, at: 'attach' } })
  if (isPolled && queue.length > 0) {
    const next = read(idle, rules)
    steps.push({ text: 'reads', next: hidesNews(state) ? next : { ...next, at: 'calm' } })
  }
  if (newsQueue > 0) {
    const heard = { ...idle, newsQueue: 0 }
    if (!isDeferred) steps.push({ text: 'empties the news socket', next: heard })
    else steps.push({ text: 'hears of news', next: rules.pollsAgain ? ended(heard) : read(heard, rules) })
  }
  if (isDeferred && isSettling && flying === undefined)
    steps.push({ text: 'reads once more', next: { ...read(idle, rules), isSettling: false } })
  if (timer <= 0) steps.push(fire(idle, rules))
  if (!state.isWatched && queue.length === 0) steps.push({ text: 'watches again', next: { ...idle, isWatched: true } })
  return steps
}

function fire(state: Deferred, rules: DeferralRules): Step {
  const next = rules.drains ? read(state, rules) : state
  if (next.heard < DOWN) return { text: 'finds a later deadline', next }
  const wrong = state.truth < DOWN ? 'takes over although the Active was heard' : undefined
  return { text: 'takes over', next: { ...next, hasTakenOver: true }, wrong }
}

/** Of repetitions in a row, only the newest one makes a difference. */
const queuedBehind = (queue: readonly Queued[], packet: Packet): readonly Queued[] => {
  const isRepeated = packet === 'repetition' && queue.at(-1)?.packet === 'repetition'
  return [...(isRepeated ? queue.slice(0, -1) : queue), { packet, age: 0 }]
}

function kernelSteps(state: Deferred): Step[] {
  const { flying, isFiltered, isSilent, newsQueue, next, queue } = state
  if (flying === undefined) {
    if (isSilent || next > 0) return []
    const sent = { packet: 'repetition', toMain: true, toNews: true } as const
    return [{ text: 'a repetition arrives', next: { ...state, flying: sent, next: INTERVAL } }]
  }
  const steps: Step[] = []
  const left = (still: Partial<typeof flying>) => {
    const now = { ...flying, ...still }
    return now.toMain || now.toNews ? now : undefined
  }
  if (flying.toMain)
    steps.push({
      text: `the kernel queues a ${flying.packet}`,
      next: {
        ...{ ...state, flying: left({ toMain: false }), queue: queuedBehind(queue, flying.packet) },
        truth: flying.packet === 'repetition' ? 0 : state.truth,
      },
    })
  if (flying.toNews)
    steps.push({
      text: `the filter sees a ${flying.packet}`,
      next: {
        ...{ ...state, flying: left({ toNews: false }) },
        newsQueue: isFiltered && flying.packet === 'news' ? Math.min(2, newsQueue + 1) : newsQueue,
      },
    })
  return steps
}

/** Returns what may happen at any time. */
function surprises(state: Deferred, rules: DeferralRules): Step[] {
  const steps: Step[] = []
  if (state.hasTakenOver) return steps
  if (!state.isSilent) steps.push({ text: 'the Active falls silent', next: { ...state, isSilent: true } })
  if (state.news > 0 && state.flying === undefined) {
    const flying = { packet: 'news', toMain: true, toNews: true } as const
    steps.push({ text: 'news arrives', next: { ...state, flying, news: state.news - 1 } })
  }
  if (state.orders > 0 && state.isWatched && !state.isStopped && (state.at === 'idle' || state.at === 'calm')) {
    const over = { ...state, orders: state.orders - 1, isWatched: false, at: 'idle' } as const
    steps.push({ text: 'an order ends the watch', next: rules.endsWithWatch ? ended(over) : over })
  }
  if (state.stops > 0 && !state.isStopped)
    steps.push({ text: 'stands still', next: { ...state, stops: state.stops - 1, isStopped: true, wasStopped: true } })
  if (state.isStopped) steps.push({ text: 'goes on', next: { ...state, isStopped: false } })
  return steps
}

function tick(state: Deferred): Step {
  const older = (age: number) => Math.min(LATEST, age + 1)
  const next = {
    ...state,
    ...{ heard: older(state.heard), truth: older(state.truth), timer: Math.max(-1, state.timer - 1) },
    ...{ next: Math.max(0, state.next - 1), queue: state.queue.map((each) => ({ ...each, age: older(each.age) })) },
  }
  const runs = !state.isStopped && !state.hasTakenOver
  let wrong: string | undefined
  if (runs && hidesNews(state)) wrong = 'leaves news unread while time passes'
  if (runs && !state.wasStopped && state.truth >= DOWN) wrong = 'has not taken over in time'
  return { text: '--- half an interval', next, wrong }
}

export type DeferralResult = {
  readonly states: number
  readonly deferred: number
  readonly problem: string | undefined
  readonly story: readonly string[]
}

/** Tries every order of the steps. The first wrong step has a shortest story. */
export function searchDeferral(setting: DeferralSetting, rules: DeferralRules): DeferralResult {
  const seen = new Set<string>()
  let deferred = 0
  type Visited = { readonly state: Deferred; readonly text: string; readonly from: Visited | undefined }
  const storyOf = (last: Visited): string[] => (last.from === undefined ? [] : [...storyOf(last.from), last.text])
  let layer: Visited[] = [{ state: start(setting), text: '', from: undefined }]
  while (layer.length > 0) {
    const next: Visited[] = []
    for (const from of layer) {
      const { state } = from
      const urgent = [...kernelSteps(state), ...loopSteps(state, rules)]
      // The beginning of a deferral is a choice of the model, not a duty.
      const mayWait = urgent.every(({ text }) => text === 'begins to defer' || text === 'watches again')
      const steps = [...urgent, ...surprises(state, rules), ...(mayWait ? [tick(state)] : [])]
      for (const step of steps) {
        const visited = { state: step.next, text: step.text, from }
        if (step.wrong !== undefined)
          return { states: seen.size, deferred, problem: step.wrong, story: storyOf(visited) }
        const key = JSON.stringify(step.next)
        if (seen.has(key)) continue
        seen.add(key)
        if (step.next.isDeferred) deferred++
        next.push(visited)
      }
    }
    layer = next
  }
  return { states: seen.size, deferred, problem: undefined, story: [] }
}
