/**
 * Types of the daemon's snapshot. A snapshot is a JSON value with a version, the same for `holdfast status`, the API
 * and the metrics. Deadlines are remaining milliseconds, because no reader has our clock.
 */

import type { JournalSnapshot } from '../../events/journal-file.ts'
import type { StateName } from '../../vrrp/effect.ts'
import type { LeaseSnapshot } from '../guard/lease.ts'
import type { HealthcheckSnapshot } from '../health/healthcheck-snapshot.ts'
import type { TurnCounts } from '../turns.ts'
import type { NoticeSnapshot } from './notice-account.ts'
import type {
  ClockSnapshot,
  CompetingAnswerSnapshot,
  DuplicateSnapshot,
  HeldBack,
  MismatchedRouterSnapshot,
  OtherActiveSnapshot,
} from './router-findings.ts'

export type * from './router-findings.ts'

export type RouterSnapshot = {
  readonly name: string
  /** True if a reload has removed the router from the configuration or replaces it. */
  readonly departing: boolean
  /** Name of the router's sync group; `null` if the router is in no group. */
  readonly group: string | null
  readonly vrid: number
  readonly family: string
  readonly version: number
  readonly interface: string | null
  /** Setting `interface: { holding: … }`; `null` if the router does not use `holding`. */
  readonly holding: {
    /** File that names the followed address; `null` if the configuration itself names it. */
    readonly file: string | null
    readonly address: string | null
    /** Problem of the address file; `null` if the file is usable. */
    readonly problem: string | null
  } | null
  readonly state: StateName
  readonly since: string
  readonly reason: string
  readonly faults: readonly string[]
  /** Reason that the configuration gives for the fault `configured`; `null` without this fault. */
  readonly configuredFault: string | null
  readonly priority: { readonly base: number; readonly effective: number }
  readonly tracking: {
    /**
     * Base priority plus the contributions of all trackers, before clamping to 1–254. Not in force while the router
     * yields.
     */
    readonly sum: number
    /** Present contribution of each tracker with a weight to the router's priority. */
    readonly parts: readonly {
      readonly kind: 'interface' | 'healthcheck'
      readonly name: string
      readonly adds: number
      /** Configured weight; `null` if the tracker is reversed, or a file of weights, or was just replaced. */
      readonly weight: number | null
    }[]
  }
  /**
   * End of a yield by the wall clock. Until the end of a yield, the effective priority is 1; `null` if the router does
   * not yield.
   */
  readonly yieldingUntil: string | null
  /** Router that answers for the VIPs, as far as this node knows. `self` is true if this node is the holder. */
  readonly holder: {
    readonly self: boolean
    readonly address: string | null
    readonly priority: number | null
    readonly heardMsAgo: number | null
  }
  readonly source: string | null
  readonly transport: string
  readonly advertisementIntervalMs: number
  readonly activeAdverIntervalMs: number | null
  /** Setting that keeps this Backup from preempting a lower-priority Active; `null` if no setting does. */
  readonly heldBack: HeldBack | null
  /** Remaining milliseconds until each deadline; negative if overdue. */
  readonly deadlines: Readonly<Record<string, number>>
  readonly addresses: readonly { readonly address: string; readonly present: boolean }[]
  /** Seconds after which the kernel removes VIPs that no guardian renews; `null`: it never removes them. */
  readonly lifetimeSeconds: number | null
  /** Mismatched routers (docs/glossary.md); the router with the latest packet is first. */
  readonly mismatchedRouters: readonly MismatchedRouterSnapshot[]
  /** Other hosts that answer for a VIP of this router, or to which this router has given a VIP up. */
  readonly duplicates: readonly DuplicateSnapshot[]
  /** Other host that answered for a VIP in the last 10 s while this router was Active; otherwise `null`. */
  readonly competingAnswer: CompetingAnswerSnapshot | null
  /** Routers that are Active at the same time as this router, or as the Active that this router follows. */
  readonly otherActives: readonly OtherActiveSnapshot[]
  /** Pause without VIPs, because another program removes a VIP repeatedly; `null` outside of a pause. */
  readonly restorationsPaused: { readonly address: string; readonly forMs: number } | null
  readonly clock: ClockSnapshot
  readonly counters: {
    readonly received: number
    /** Number of advertisements in `received` with priority 0. */
    readonly receivedZero: number
    /** Number of answers of other hosts for a VIP while this router was Active. */
    readonly competingAnswers: number
    /** Number of times that the guardian removed the addresses because this engine was late. */
    readonly cleanupPlansExecuted: number
    readonly sent: Readonly<Record<string, number>>
    readonly sendFailures: Readonly<Record<string, number>>
    readonly refused: Readonly<Record<string, number>>
    /** Number of takeovers from an Active of lower priority that were suppressed or delayed. */
    readonly suppressed: Readonly<Record<string, number>>
    readonly discarded: Readonly<Record<string, number>>
    readonly warnings: Readonly<Record<string, number>>
    readonly foreignChanges: Readonly<Record<string, number>>
    readonly transitions: readonly { from: string; to: string; reason: string; count: number }[]
  }
}

export type InterfaceSnapshot = {
  readonly name: string
  readonly family: string
  readonly open: boolean
  readonly discarded: Readonly<Record<string, number>>
  readonly overflowed: number
  readonly announced: Readonly<Record<string, number>>
}

/** Problem of the configuration file, as `holdfast check` reports it. */
export type ConfigProblem = {
  readonly file?: string
  /** Line in the configuration file, from 1; 0 if the problem has no line. */
  readonly line: number
  readonly column: number
  readonly path: string
  readonly message: string
  readonly severity: 'error' | 'warning'
}

export type ImportedSnapshot = {
  readonly carried: number
  readonly withoutEffect: number
  readonly notSupported: number
  readonly refused: number
  readonly unknown: number
}

export type ConfigSnapshot = {
  /** Path of the configuration file; `null` if the daemon has no file. */
  readonly file: string | null
  /** Hash of the configuration text in force: 12 hexadecimal digits. */
  readonly hash: string | null
  readonly loadedAt: string
  /** Number of configuration reloads by result. */
  readonly reloads: { readonly ok: number; readonly failed: number }
  /**
   * Last reload of the configuration; `null` before the first. A failed reload leaves the configuration in force
   * unchanged.
   */
  readonly lastReload: {
    readonly at: string
    readonly ok: boolean
    /** Reason why the reload failed; `null` after a successful reload. */
    readonly reason: string | null
    /** The first problems of the configuration file; `holdfast check` reports all problems. */
    readonly problems: readonly ConfigProblem[]
  } | null
  /** Number of keywords in keepalived's file by handling; `null` for YAML. */
  readonly imported: ImportedSnapshot | null
  /** Time since which no router is in force, because keepalived's socket received stop; `null` after a reload. */
  readonly stoppedAt: string | null
  /** State of an engine with --managed; `null` if an operator writes the file. */
  readonly managed: ManagedSnapshot | null
}

/** State of an engine whose configuration is handed over by another program (docs/adr/0051). */
export type ManagedSnapshot = {
  /**
   * Configuration that a program handed over in this run; `null` if the configuration in force comes from the file of
   * the last run, or if there is no configuration.
   */
  readonly handedOver: {
    /** Time at which the engine last accepted this configuration. */
    readonly at: string
    /** Name of the program that handed the configuration over, as the program gave it; `null` if it gave no name. */
    readonly by: string | null
    readonly revision: string | null
  } | null
  /** Number of configurations that were handed over, by result. */
  readonly handOvers: {
    readonly ok: number
    readonly unchanged: number
    readonly invalid: number
    readonly failed: number
  }
  /** Reason why the configuration in force could not be written to the file; `null` if the file has it. */
  readonly notKept: string | null
  /** Reason why no configuration is in force; `null` if a configuration is in force. */
  readonly waits: string | null
}

export type SchedulingSnapshot = {
  /** Scheduling policy in the kernel: SCHED_OTHER, SCHED_RR, … */
  readonly policy: string
  /** Scheduling priority: 1 to 99 of a real-time policy, otherwise 0. */
  readonly priority: number
  readonly realtimeAsked: boolean
  /**
   * Scheduling of the guardian; `null` if there is no guardian. `confined`: the guardian has a seccomp filter of its own;
   * absent if that is not known.
   */
  readonly guardian: { readonly policy: string; readonly priority: number; readonly confined?: boolean } | null
}

/** State of the webhook, which sends events to a URL. */
export type WebhookSnapshot = {
  /** URL of the webhook without credentials and query. */
  readonly to: string
  /** True if the last attempt to send events failed. */
  readonly failing: boolean
  readonly waiting: number
  readonly delivered: number
  /** Number of events that the webhook lost: refused by the receiver, too old, or too many waiting. */
  readonly refused: number
  readonly expired: number
  readonly overflow: number
  /** Number of failed attempts of the webhook; each was followed by another attempt. */
  readonly failedAttempts: number
}

/** Fields of the snapshot that come from outside of the engine. */
export type SurroundingsSnapshot = {
  /** Number of connections to the control socket by users without permission. */
  readonly controlRefused: number
  /** keepalived processes with VRRP in this network namespace that `--force` accepted. */
  readonly keepalivedBeside: readonly { readonly pid: number; readonly name: string }[]
  /** Scheduling of the engine's main thread and of its guardian; `null` if the scheduling was not read. */
  readonly scheduling: SchedulingSnapshot | null
  /** State of the webhook; `null` if no webhook is configured. */
  readonly webhook: WebhookSnapshot | null
  /** State of the journal file; `null` if events are in memory only. */
  readonly journal: JournalSnapshot | null
}

/** Values for a daemon that does not know its machine, for example in tests. */
export const NO_SURROUNDINGS: SurroundingsSnapshot = {
  controlRefused: 0,
  keepalivedBeside: [],
  scheduling: null,
  webhook: null,
  journal: null,
}

export type GroupSnapshot = { readonly name: string; readonly members: readonly string[] }

export type Snapshot = SurroundingsSnapshot & {
  readonly version: 1
  readonly pid: number
  readonly hostname: string
  readonly startedAt: string
  readonly takenAt: string
  /**
   * Protection against a crash of this engine. `guarded`: a guardian checks deadlines and renews lifetimes. `armed`:
   * the guardian executes the cleanup plan only if the engine dies. `none`: a crash leaves addresses behind.
   */
  readonly guardian: 'none' | 'armed' | 'guarded'
  /** Whether the guardian repeats advertisements (`lease: on`), and the reason if it does not. */
  readonly lease: LeaseSnapshot
  /** Restarts of the engine after a crash since the guardian started (`onCrash: restart`). */
  readonly engineRestarts: number
  readonly logRecordsLost: number
  readonly turns: TurnCounts
  readonly config: ConfigSnapshot
  readonly routers: readonly RouterSnapshot[]
  readonly groups: readonly GroupSnapshot[]
  readonly interfaces: readonly InterfaceSnapshot[]
  readonly healthchecks: readonly HealthcheckSnapshot[]
  /** Notifications of routers and groups with programs to notify. */
  readonly notifications: readonly NoticeSnapshot[]
}

/** Summary of a router, which costs almost nothing to make. */
export type RouterSummary = Pick<RouterSnapshot, 'name' | 'state' | 'faults'> & {
  readonly addresses: readonly string[]
  /** Address of the Active that a Backup follows; `null` if the Backup knows no Active. */
  readonly follows: string | null
}
