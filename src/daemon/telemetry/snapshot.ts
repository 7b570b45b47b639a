/**
 * The snapshot of the daemon, as types: a value that is JSON as it stands, versioned, the same for `holdfast status`,
 * the API and the metrics. Deadlines are remaining milliseconds, because no reader shares our clock.
 */

import type { JournalSnapshot } from '../../events/journal-file.ts'
import type { StateName } from '../../vrrp/effect.ts'
import type { HealthcheckSnapshot } from '../health/healthcheck-snapshot.ts'
import type { Mismatch } from '../lan/mismatched-routers.ts'
import type { NoticeSnapshot } from './notice-account.ts'

export type MismatchedRouterSnapshot = {
  readonly address: string
  readonly reason: Mismatch
  /** VRRP version of its last packet. */
  readonly version: number | null
  /** Its advertisements count in the election. */
  readonly listenedTo: boolean
  readonly count: number
  readonly lastHeardMsAgo: number
}

export type DuplicateSnapshot = {
  readonly address: string
  readonly mac: string
  /** Router behind the MAC: heard to advertise (priority `null`: not heard), or listed; `null`: it speaks no VRRP. */
  readonly router: {
    readonly address: string
    readonly priority: number | null
    /** Age of its last advertisement, which has that priority; `null`: there was none. */
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
  /** Milliseconds for which it advertises beside another Active. */
  readonly forMs: number
  readonly heardMsAgo: number
}

export type HeldBack = 'preempt' | 'preemptDelay' | 'margin'

export type RouterSnapshot = {
  readonly name: string
  /** A reload has removed it from the configuration, or a router of the same name waits until it is gone. */
  readonly departing: boolean
  /** Name of the sync group; `null`: it moves alone. */
  readonly group: string | null
  readonly vrid: number
  readonly family: string
  readonly version: number
  readonly interface: string | null
  /** `interface: { holding: … }`; `null`: the configuration has none. */
  readonly holding: {
    /** File that names the address; `null`: the configuration itself does. */
    readonly file: string | null
    readonly address: string | null
    /** Why it is not as the file names it; `null`: it is. */
    readonly problem: string | null
  } | null
  readonly state: StateName
  readonly since: string
  readonly reason: string
  readonly faults: readonly string[]
  /** Text of its configuration about the fault `configured`; `null`: it has none. */
  readonly configuredFault: string | null
  readonly priority: { readonly base: number; readonly effective: number }
  readonly tracking: {
    /** Base and parts, before clamping to 1–254; not in force while the router yields. */
    readonly sum: number
    /** What each tracker with a weight adds now. */
    readonly parts: readonly {
      readonly kind: 'interface' | 'healthcheck'
      readonly name: string
      readonly adds: number
      /** As configured; `null`: it is reversed, or a file of weights, or a reload has just replaced it. */
      readonly weight: number | null
    }[]
  }
  /** End of a yield, for which the effective priority is 1; wall clock. */
  readonly yieldingUntil: string | null
  /** The router that answers for the addresses, as far as this node knows; `self` when it is this one. */
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
  /** Setting that keeps a Backup which is better than the Active from preempting; `null`: none does. */
  readonly heldBack: HeldBack | null
  /** Remaining milliseconds, negative when overdue. */
  readonly deadlines: Readonly<Record<string, number>>
  readonly addresses: readonly { readonly address: string; readonly present: boolean }[]
  /** Lifetime of the addresses in the kernel, unless the guardian renews them; `null`: they stay. */
  readonly lifetimeSeconds: number | null
  /** Mismatched routers (docs/glossary.md); the one heard last comes first. */
  readonly mismatchedRouters: readonly MismatchedRouterSnapshot[]
  /** Other hosts that answer for an address that this router holds, or has yielded to them. */
  readonly duplicates: readonly DuplicateSnapshot[]
  /** The other host that answered last while this router was Active; `null`: none has in the last 10 s. */
  readonly competingAnswer: CompetingAnswerSnapshot | null
  /** Routers that advertise as Active beside this one, or beside the one that it follows. */
  readonly otherActives: readonly OtherActiveSnapshot[]
  /** Another program keeps removing an address: the router has resigned for so long. */
  readonly restorationsPaused: { readonly address: string; readonly forMs: number } | null
  readonly counters: {
    readonly received: number
    /** Advertisements of `received` with priority 0. */
    readonly receivedZero: number
    /** Times that another host answered for an address while this router was Active. */
    readonly competingAnswers: number
    /** Times that the guardian removed the addresses because this engine was late. */
    readonly cleanupPlansExecuted: number
    readonly sent: Readonly<Record<string, number>>
    readonly sendFailures: Readonly<Record<string, number>>
    readonly refused: Readonly<Record<string, number>>
    /** Takeovers from an Active below this router that did not happen, or not yet. */
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

/** A problem of the file, as `holdfast check` reports it. */
export type ConfigProblem = {
  readonly file?: string
  /** 1-based; 0 where there is no text to point at. */
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
  /** `null`: the configuration came from no file. */
  readonly file: string | null
  /** 12 hexadecimal digits of the text in force. */
  readonly hash: string | null
  readonly loadedAt: string
  /** By how they ended. */
  readonly reloads: { readonly ok: number; readonly failed: number }
  /** `null`: there was none. A failed one has left the configuration in force as it was. */
  readonly lastReload: {
    readonly at: string
    readonly ok: boolean
    /** Text, of a failed one. */
    readonly reason: string | null
    /** The first problems; `holdfast check` reports all. */
    readonly problems: readonly ConfigProblem[]
  } | null
  /** Keywords of keepalived's file, counted by their handling; `null`: it is YAML. */
  readonly imported: ImportedSnapshot | null
  /** Time since which no router is in force, because keepalived's socket received stop; a reload ends that. */
  readonly stoppedAt: string | null
  /** `null`: the file is an operator's, and nothing is handed over. */
  readonly managed: ManagedSnapshot | null
}

/** State of an engine to which its configuration is handed over (docs/adr/0051). */
export type ManagedSnapshot = {
  /** The configuration in force was handed over in this run; `null`: it was remembered, or there is none. */
  readonly handedOver: {
    /** Time at which the engine last took it. */
    readonly at: string
    /** As the process names itself. */
    readonly by: string | null
    readonly revision: string | null
  } | null
  /** By how they ended. */
  readonly handOvers: {
    readonly ok: number
    readonly unchanged: number
    readonly invalid: number
    readonly failed: number
  }
  /** Why the configuration in force is not in the file; `null`: it is. */
  readonly notKept: string | null
  /** Why no configuration is in force; `null`: one is. */
  readonly waits: string | null
}

export type SchedulingSnapshot = {
  /** SCHED_OTHER, SCHED_RR, … as the kernel has it now. */
  readonly policy: string
  /** 1 to 99 of a real-time policy, 0 otherwise. */
  readonly priority: number
  readonly realtimeAsked: boolean
  /** `null`: there is none. */
  readonly guardian: { readonly policy: string; readonly priority: number } | null
}

/** Events on their way to a URL. */
export type WebhookSnapshot = {
  /** URL without credentials and query. */
  readonly to: string
  /** The last attempt did not arrive. */
  readonly failing: boolean
  readonly waiting: number
  readonly delivered: number
  /** Lost events: the receiver refused them, they were too old, too many waited. */
  readonly refused: number
  readonly expired: number
  readonly overflow: number
  /** Each was followed by another attempt. */
  readonly failedAttempts: number
}

/** Parts of the snapshot that the engine does not see itself. */
export type SurroundingsSnapshot = {
  /** Connections to the control socket by users who may not command. */
  readonly controlRefused: number
  /** keepalived with VRRP in this network namespace, which `--force` has accepted at the start. */
  readonly keepalivedBeside: readonly { readonly pid: number; readonly name: string }[]
  /** Scheduling of the engine's main thread and of its guardian; `null`: it was not read. */
  readonly scheduling: SchedulingSnapshot | null
  /** `null`: no webhook is configured. */
  readonly webhook: WebhookSnapshot | null
  /** `null`: events are in memory alone. */
  readonly journal: JournalSnapshot | null
}

/** Surroundings of a daemon that gets none. */
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
   * What is behind this engine. Guarded: a guardian keeps deadlines and renews lifetimes. Armed: only the death of the
   * engine executes the cleanup plan. None: a crash leaves addresses behind.
   */
  readonly guardian: 'none' | 'armed' | 'guarded'
  readonly logRecordsLost: number
  readonly config: ConfigSnapshot
  readonly routers: readonly RouterSnapshot[]
  readonly groups: readonly GroupSnapshot[]
  readonly interfaces: readonly InterfaceSnapshot[]
  readonly healthchecks: readonly HealthcheckSnapshot[]
  /** Of routers and groups with programs to notify. */
  readonly notifications: readonly NoticeSnapshot[]
}

/** The part of a snapshot that costs next to nothing. */
export type Standing = Pick<RouterSnapshot, 'name' | 'state' | 'faults'> & {
  readonly addresses: readonly string[]
  /** The Active that a Backup follows. */
  readonly follows: string | null
}
