/**
 * Defines the state of the model of the guardian's clock: one node and its peer. Time is counted in ticks of half an
 * Advertisement_Interval. This file decides the variables, their meaning, and the durations. The steps of each process
 * are in the files beside this one.
 */

/**
 * Priorities on the LAN in ascending order. The node advertises `high`, or `low` after a demotion. The peer's priority
 * lies between them.
 */
export const PRIORITY = { release: 0, low: 1, peer: 2, high: 3 } as const
export type Priority = (typeof PRIORITY)[keyof typeof PRIORITY]

/** Durations of the model in ticks. */
export const TICKS = {
  interval: 2,
  /** Time of the shared timer that wakes the engine if the clock has sent no frame: 2.5 intervals. */
  clockLate: 5,
  /** Time from the last frame to the deadline of the cleanup plan: 3 intervals. */
  deadline: 6,
  /** Active_Down_Interval of the peer: 3 intervals and Skew_Time. */
  activeDown: 7,
  skew: 1,
  /** Time after the deadline of the cleanup plan in which the guardian still sends priority 0. */
  grace: 1,
  /**
   * Duration of the engine's lease. The lease is shorter than the lifetime of the address. With a longer lease a clock
   * whose engine and executor stand still would advertise an expired address.
   */
  lease: 14,
  /**
   * Longest wait for the next engine. The wait for the next engine may be longer than the lifetime, because the
   * executor goes on renewing.
   */
  adoption: 20,
  /** Lifetime of the address in the kernel, after which the kernel removes the address if no process has renewed it. */
  lifetime: 16,
  /** Silence of the executor after which the engine leaves, because no thread renews the address any longer. */
  patience: 12,
} as const

/** Largest age of each kind that a rule distinguishes. A larger age makes no difference. */
export const LONGEST = {
  ...{
    sent: 8,
    proof: 7,
    asked: 7,
    away: 22,
    peer: 7,
    returning: 2,
    word: 4,
    renewed: 16,
    silent: 14,
    measured: 24,
    waited: 21,
  },
} as const

export type Engine = 'Active' | 'Leaving' | 'Backup' | 'Returning' | 'dead' | 'Adopting'
/** Next step of the engine. `idle`: the engine waits for an event. */
export type EnginePlace =
  | 'idle'
  | 'adopt'
  | 'receive'
  | 'prove'
  | 'withdraw'
  | 'wait'
  | 'say'
  | 'arm'
  | 'disarm'
  | 'remove'
/** Reason for which the engine withdraws the clock's word. */
export type Goal = 'demote' | 'restore' | 'stop' | 'lose' | 'return' | 'end' | 'cover'
export type ClockPlace = 'idle' | 'claim' | 'check' | 'ask' | 'send' | 'free'
export type ExecutorPlace = 'idle' | 'awaitClock' | 'remove' | 'release'

export type State = {
  // State of the node's kernel.
  readonly address: boolean
  /** Ticks since the address was last renewed. */
  readonly renewed: number
  /** Priorities of other routers' frames in the receive queue of the engine's socket, the oldest first. */
  readonly engineQueue: readonly Priority[]
  /** Number of other routers' frames in the receive queue of the guardian's socket. */
  readonly guardianQueue: number
  /**
   * Priority of a frame that has reached the guardian's socket and not yet the engine's; `undefined` if there is none.
   */
  readonly between: Priority | undefined

  // State of the memory that engine and guardian share.
  /**
   * Clock's word in shared memory: the priority of the prepared frame while the clock is armed; `undefined` while it is
   * not.
   */
  readonly clock: Priority | undefined
  readonly clockBusy: boolean
  readonly plan: 'armed' | 'executed' | 'none'
  /** Ticks since this node sent its last frame. */
  readonly sent: number
  /** Ticks since the engine last proved that it had read all packets. */
  readonly proof: number
  /**
   * True if the clock thread has read a frame of another router, and the engine has not proved since then that it read
   * all packets.
   */
  readonly unread: boolean
  readonly forged: boolean
  /** True if the clock thread has stopped its rounds and woken the engine, because news held a round for too long. */
  readonly stoppedForNews: boolean
  /** True if the guardian has asked the engine for a proof and has no answer yet. */
  readonly asked: boolean
  readonly askedFor: number
  /** True if the machine has slept, and neither the engine nor the guardian has reacted to that. */
  readonly slept: boolean

  // State of the engine.
  readonly engine: Engine
  readonly at: EnginePlace
  /** Priority that the engine means to advertise. */
  readonly says: Priority
  /**
   * Whether the engine's last receive began after the clock thread's last report of a frame (`fresh`) or before it
   * (`stale`).
   */
  readonly mark: 'none' | 'fresh' | 'stale'
  /**
   * True if the engine gave up waiting for a busy clock word. Such an engine advertises by itself until the word is
   * free.
   */
  readonly alone: boolean
  readonly goal: Goal | undefined
  /** Demotion, restoration or stop that the engine has been ordered to do and has not begun; `undefined` if there is no order. */
  readonly order: 'demote' | 'restore' | 'stop' | undefined
  readonly returning: number

  // State of the guardian.
  readonly clockAt: ClockPlace
  /** Priority of the frame that the clock thread is about to send; `undefined` if there is none. */
  readonly held: Priority | undefined
  readonly executorAt: ExecutorPlace
  /** Ticks since the last beat of the executor thread. */
  readonly silent: number
  /** True if the executor removed the address without waiting until the clock word was free. */
  readonly overtaken: boolean

  /**
   * Restart of a killed engine. `waiting`: the address waits for the next engine. `settling`: that engine has adopted the
   * address, and the clock thread does not know yet.
   */
  readonly restart: 'none' | 'waiting' | 'settling'
  readonly restarts: number
  /** Ticks for which the address has waited. */
  readonly waited: number
  /** True if a frame of another router arrived without an engine, and the cleanup plan was not executed since. */
  readonly lostNews: boolean

  // State of the peer, which is never late.
  readonly peerActive: boolean
  /** Ticks since the peer's timer was restarted (as Backup), or since its last advertisement (as Active). */
  readonly peerTimer: number
  readonly peerWait: number

  // History of the model, for its properties.
  readonly stopped: { readonly engine: boolean; readonly clock: boolean; readonly executor: boolean }
  readonly faults: number
  readonly orders: number
  readonly news: number
  /** Faults that have happened. The properties that must hold depend on them. */
  readonly seen: {
    readonly engine: boolean
    readonly guardian: boolean
    readonly both: boolean
    readonly slept: boolean
    /** True if the clock thread stood still between its last look at the clock word and its frame. */
    readonly torn: boolean
  }
  readonly lastWord: Priority
  /** True after a demotion. The peer may then have taken over, although the node's check has succeeded again. */
  readonly demoted: boolean
  /** Number of ticks for which the engine has stood still. */
  readonly away: number
  /** Ticks since the engine last changed its priority. */
  readonly sinceWord: number
  readonly two: number
  readonly none: number
}

export type Step = { readonly text: string; readonly next: State }

/** Rules of the design. A mutant of the design leaves out one of them. */
export type Rules = {
  /** The engine withdraws the clock word and waits before it advertises another priority. */
  readonly withdraws: boolean
  /** An engine that could not wait for the clock thread sends its last advertisement again. */
  readonly repeats: boolean
  /** After the clock thread has claimed its word, it checks the times and the word again directly before it sends. */
  readonly checksAtSending: boolean
  /** The clock thread checks the times and the words once more between the question and the advertisement of a round. */
  readonly checksEachFrame: boolean
  /**
   * The check before sending includes the plan's word: the guardian sends nothing for a unit whose cleanup plan it has
   * executed.
   */
  readonly checksPlan: boolean
  /** The guardian compares CLOCK_BOOTTIME with CLOCK_MONOTONIC, to notice that the machine has slept. */
  readonly noticesSleep: boolean
  /** The clock stops sending while the engine has not read a frame that the clock thread has read. */
  readonly newsStop: boolean
  /**
   * News holds a round for half an interval at most. After half an interval the clock stops, and the engine advertises
   * by itself.
   */
  readonly newsBound: boolean
  /**
   * The guardian asks the engine for a proof as soon as it has read another router's frame, not at half of the lease.
   */
  readonly asksForNews: boolean
  /** The time of the engine's proof is the moment before the receive that found nothing. */
  readonly marksBefore: boolean
  /** A proof counts only if it is 1 ms newer than the frame of another router. */
  readonly margin: boolean
  /** The executor waits until the clock thread has freed its word before it removes the address. */
  readonly executorWaits: boolean
  /** Engine and guardian use the timer that restarts at the last frame. */
  readonly sharedTimer: boolean
  readonly lease: boolean
  /** A frame that arrives without an engine ends the wait for the next one. */
  readonly newsEndsWait: boolean
  /** The clock thread reads its sockets before it ends the wait, because the next engine has not read what is there. */
  readonly drainsAtEnd: boolean
  /** The address waits for the next engine for a time, not for ever. */
  readonly adoptionEnds: boolean
  /** During the wait, the clock sends only if the executor has renewed the address within the time of a lease. */
  readonly lendsTime: boolean
  /** The sweep at the start of an engine spares the addresses that it adopts. */
  readonly spares: boolean
}
export const RULES: Rules = {
  withdraws: true,
  repeats: true,
  checksAtSending: true,
  checksEachFrame: true,
  checksPlan: true,
  noticesSleep: true,
  newsStop: true,
  newsBound: true,
  asksForNews: true,
  marksBefore: true,
  margin: true,
  executorWaits: true,
  sharedTimer: true,
  lease: true,
  newsEndsWait: true,
  drainsAtEnd: true,
  adoptionEnds: true,
  lendsTime: true,
  spares: true,
}

export const FAULTS = ['engine', 'clock', 'executor', 'guardian', 'node', 'kill', 'sleep', 'executorInWait'] as const
export type Fault = (typeof FAULTS)[number]

/** Limits of a story: the number and kinds of its faults, and the priority at its beginning. */
export type Setting = {
  readonly kinds?: readonly Fault[]
  readonly faults?: number
  readonly orders?: number
  readonly news?: number
  /** True if a forger sends packets of the VRID so fast that each proof is older than the last one of them. */
  readonly forged?: boolean
  readonly says?: Priority
  /** True if the guardian starts a killed engine again. */
  readonly restart?: boolean
}

export const start = ({
  faults = 0,
  forged = false,
  orders = 0,
  news = 0,
  restart = false,
  says = PRIORITY.high,
}: Setting): State => ({
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
  unread: forged,
  forged,
  stoppedForNews: false,
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
  restart: 'none',
  restarts: restart ? 0 : 1,
  waited: 0,
  lostNews: false,
  peerActive: false,
  peerTimer: 0,
  peerWait: TICKS.activeDown,
  stopped: { engine: false, clock: false, executor: false },
  faults,
  orders,
  news,
  seen: { engine: false, guardian: false, both: false, slept: false, torn: false },
  lastWord: says,
  demoted: false,
  away: 0,
  sinceWord: LONGEST.word,
  two: 0,
  none: 0,
})
