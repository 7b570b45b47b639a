/**
 * The parts of a router's snapshot that describe what other routers and the guardian do for its VRID. Values only, as in
 * snapshot.ts.
 */
import type { Mismatch } from '../lan/mismatched-routers.ts'

export type MismatchedRouterSnapshot = {
  readonly address: string
  readonly reason: Mismatch
  /** VRRP version of the mismatched router's last packet; `null` if the version could not be read. */
  readonly version: number | null
  /** True if the router's advertisements count in the election. */
  readonly listenedTo: boolean
  readonly count: number
  readonly lastHeardMsAgo: number
}

export type DuplicateSnapshot = {
  readonly address: string
  readonly mac: string
  /**
   * Router with the holder's MAC; `null` if the host neither advertised nor is a listed peer. The priority is `null` if
   * the router did not advertise.
   */
  readonly router: {
    readonly address: string
    readonly priority: number | null
    /** Milliseconds since the router's last advertisement; `null` if the router did not advertise. */
    readonly heardMsAgo: number | null
  } | null
  readonly foundMsAgo: number
}

export type CompetingAnswerSnapshot = {
  readonly address: string
  readonly mac: string
  readonly sinceMsAgo: number
  readonly lastMsAgo: number
  readonly answers: number
}

export type OtherActiveSnapshot = {
  readonly address: string
  readonly priority: number
  /** Milliseconds for which the router has advertised beside another Active. */
  readonly forMs: number
  readonly heardMsAgo: number
}

export type HeldBack = 'preempt' | 'preemptDelay' | 'margin'

/** The clock of the guardian, which repeats the advertisements of a router at rest (docs/adr/0086). */
export type ClockSnapshot = {
  /** True while the guardian's clock sends the router's advertisements. */
  readonly armed: boolean
  /**
   * Number of rounds that the clock has sent. A round is the router's advertisement, with the ARP questions that are due.
   * The counter of sent advertisements includes the advertisements of these rounds.
   */
  readonly rounds: number
  /** Number of rounds that the guardian's clock could not send. */
  readonly failed: number
  /** Greatest lateness in milliseconds of a round of the guardian's clock. */
  readonly latestMs: number
}
