/**
 * State of the model of the guardian's clock: one node and its peer. Time is counted in ticks of half an
 * Advertisement_Interval. This file decides the variables, their meaning, and the durations. The steps of each process
 * are in the files beside this one.
 */

/** Priorities on the LAN, lowest first. The node advertises `high`, or `low` after a demotion; the peer lies between. */
export const PRIORITY = { release: 0, low: 1, peer: 2, high: 3 } as const
export type Priority = (typeof PRIORITY)[keyof typeof PRIORITY]

/** Ticks. */
export const TICKS = {
  interval: 2,
  /** The shared timer that wakes the engine if no frame has left: 2.5 intervals. */
  clockLate: 5,
  /** Deadline of the cleanup plan: 3 intervals after the last frame. */
  deadline: 6,
  /** Active_Down_Interval of the peer: 3 intervals and Skew_Time. */
  activeDown: 7,
  skew: 1,
  /** Time after the deadline in which priority 0 is still sent. */
  grace: 1,
  /** Shorter than the lifetime: otherwise a clock whose engine and executor stand still advertises an expired address. */
  lease: 14,
  /** Lifetime of the address in the kernel, if nothing renews it. */
  lifetime: 16,
  /** Silence of the executor after which the engine leaves, because the address is no longer renewed. */
  patience: 12,
} as const

/** Longest age of each kind that a rule distinguishes; a greater one makes no difference. */
export const LONGEST = {
  ...{ sent: 8, proof: 7, asked: 7, away: 18, peer: 7, returning: 2, word: 4, renewed: 16, silent: 12, measured: 24 },
} as const

export type Engine = 'Active' | 'Leaving' | 'Backup' | 'Returning' | 'dead'
/** Next step of the engine; `idle` waits for an event. */
export type EnginePlace = 'idle' | 'receive' | 'prove' | 'withdraw' | 'wait' | 'say' | 'arm' | 'disarm' | 'remove'
/** Why the engine withdraws the clock. */
export type Goal = 'demote' | 'stop' | 'lose' | 'return' | 'end' | 'cover'
export type ClockPlace = 'idle' | 'claim' | 'check' | 'send' | 'free'
export type ExecutorPlace = 'idle' | 'awaitClock' | 'remove' | 'release'

export type State = {
  // The kernel of the node.
  readonly address: boolean
  /** Ticks since the address was renewed. */
  readonly renewed: number
  /** Frames of others in the engine's socket, the oldest first. */
  readonly engineQueue: readonly Priority[]
  /** Frames of others in the guardian's socket; only their number matters. */
  readonly guardianQueue: number
  /** A frame that is in the guardian's socket and not yet in the engine's. */
  readonly between: Priority | undefined

  // Shared memory.
  /** The clock's word: the priority of the prepared frame while it is armed. */
  readonly clock: Priority | undefined
  readonly clockBusy: boolean
  readonly plan: 'armed' | 'executed' | 'none'
  /** Ticks since the last frame of this node. */
  readonly sent: number
  /** Ticks since the last proof that the engine had read everything. */
  readonly proof: number
  /** The clock thread has read a frame of another router, and no proof is newer. */
  readonly unread: boolean
  /** The guardian asks the engine for a proof. */
  readonly asked: boolean
  readonly askedFor: number
  /** The machine has slept, and neither side has acted on it. */
  readonly slept: boolean

  // Engine.
  readonly engine: Engine
  readonly at: EnginePlace
  /** Priority that the engine means to advertise. */
  readonly says: Priority
  /** The moment before the last receive is newer than the last news of the clock thread. */
  readonly mark: 'none' | 'fresh' | 'stale'
  /** The engine gave up waiting for a busy clock word: it advertises by itself until the word is free. */
  readonly alone: boolean
  readonly goal: Goal | undefined
  /** A demotion or a stop that the engine has not acted on. */
  readonly order: 'demote' | 'stop' | undefined
  readonly returning: number

  // Guardian.
  readonly clockAt: ClockPlace
  /** Priority of the frame that the clock thread holds. */
  readonly held: Priority | undefined
  readonly executorAt: ExecutorPlace
  /** Ticks since the executor's last beat. */
  readonly silent: number
  /** The executor did not wait until the clock word was free. */
  readonly overtaken: boolean

  // The peer, which is never late.
  readonly peerActive: boolean
  /** Ticks since the peer's timer was restarted, or since its last advertisement. */
  readonly peerTimer: number
  readonly peerWait: number

  // History of the model.
  readonly stopped: { readonly engine: boolean; readonly clock: boolean; readonly executor: boolean }
  readonly faults: number
  readonly orders: number
  readonly news: number
  /** Faults that have happened: the expected properties depend on them. */
  readonly seen: {
    readonly engine: boolean
    readonly guardian: boolean
    readonly both: boolean
    readonly slept: boolean
    /** The clock thread stood still between its last look at the word and its frame. */
    readonly torn: boolean
  }
  readonly lastWord: Priority
  /** Ticks that the engine has stood still. */
  readonly away: number
  /** Ticks since the engine changed its priority. */
  readonly sinceWord: number
  readonly two: number
  readonly none: number
}

export type Step = { readonly text: string; readonly next: State }

/** Parts of the design that a mutant leaves out. */
export type Rules = {
  /** The engine withdraws the clock's word and waits before it says something else. */
  readonly withdraws: boolean
  /** An engine that could not wait says its last word again. */
  readonly repeats: boolean
  /** The clock thread looks at the times and at its word again after it has claimed it, directly before it sends. */
  readonly checksAtSending: boolean
  /** That look includes the plan's word: the guardian does not speak for a unit whose plan it has executed. */
  readonly checksPlan: boolean
  /** BOOTTIME is compared with MONOTONIC. */
  readonly noticesSleep: boolean
  /** News that the engine has not read stop the frames. */
  readonly newsStop: boolean
  /** The guardian asks for a proof as soon as it has read news, not at half of the lease. */
  readonly asksForNews: boolean
  /** The proof is the moment before the receive that found nothing. */
  readonly marksBefore: boolean
  /** A proof counts only if it is 1 ms newer than the news. */
  readonly margin: boolean
  /** The executor waits until the clock thread has freed its word before it removes the address. */
  readonly executorWaits: boolean
  /** Both processes hold the timer of the last frame. */
  readonly sharedTimer: boolean
  readonly lease: boolean
}
export const RULES: Rules = {
  withdraws: true,
  repeats: true,
  checksAtSending: true,
  checksPlan: true,
  noticesSleep: true,
  newsStop: true,
  asksForNews: true,
  marksBefore: true,
  margin: true,
  executorWaits: true,
  sharedTimer: true,
  lease: true,
}

export const FAULTS = ['engine', 'clock', 'executor', 'guardian', 'node', 'kill', 'sleep'] as const
export type Fault = (typeof FAULTS)[number]

/** Limits of a story: number and kinds of the faults, and the priority at its beginning. */
export type Setting = {
  readonly kinds?: readonly Fault[]
  readonly faults?: number
  readonly orders?: number
  readonly news?: number
  readonly says?: Priority
}

export const start = ({ faults = 0, orders = 0, news = 0, says = PRIORITY.high }: Setting): State => ({
  address: true,
  renewed: 0,
  engineQueue: [],
  guardianQueue: 0,
  between: undefined,
  clock: says,
  clockBusy: false,
  plan: 'armed',
  sent: 0,
  proof: 0,
  unread: false,
  asked: false,
  askedFor: 0,
  slept: false,
  engine: 'Active',
  at: 'idle',
  says,
  mark: 'none',
  alone: false,
  goal: undefined,
  order: undefined,
  returning: 0,
  clockAt: 'idle',
  held: undefined,
  executorAt: 'idle',
  silent: 0,
  overtaken: false,
  peerActive: false,
  peerTimer: 0,
  peerWait: TICKS.activeDown,
  stopped: { engine: false, clock: false, executor: false },
  faults,
  orders,
  news,
  seen: { engine: false, guardian: false, both: false, slept: false, torn: false },
  lastWord: says,
  away: 0,
  sinceWord: LONGEST.word,
  two: 0,
  none: 0,
})
