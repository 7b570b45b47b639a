/** What engine and worker say to each other. Values only; neither side shares memory with the other. */
import type { Config } from '../config/config.ts'
import type { ConfigDiff } from '../config/diff.ts'
import type { Imported } from '../config/keepalived/fate.ts'
import type { NodeView } from '../config/node-view.ts'
import type { Problem } from '../config/problem.ts'
import type { Snapshot } from '../daemon/snapshot.ts'
import type { CheckNews, CheckOrder } from '../healthcheck/check-message.ts'
import type { Refusal } from '../healthcheck/launched-programs.ts'
import type { ProgramSet } from '../healthcheck/program-set.ts'
import type { NotifyNews, NotifyOrder } from '../notify/notification.ts'
import type { KeepalivedReading } from './configuration-language.ts'
import type { Dumped, DumpKind } from './keepalived-dump.ts'

export type WorkerSettings = {
  /** False: nothing is served, there is only parsing. What another address than loopback means: docs/privileges.md. */
  readonly listen: { readonly host: string; readonly port: number } | false
  readonly version: string
}

/** A configuration file read again. With `ok` the problems are warnings; otherwise there is an error among them. */
export type FreshConfig =
  | {
      readonly ok: true
      readonly config: Config
      readonly hash: string
      /** From the configuration in force to this one. */
      readonly diff: ConfigDiff
      readonly warnings: readonly Problem[]
      /** Of keepalived's file. */
      readonly imported?: Imported | undefined
    }
  | { readonly ok: false; readonly problems: readonly Problem[] }

export type ReadOrder = {
  readonly file: string
  /** How, when it is keepalived's. */
  readonly keepalived?: KeepalivedReading | undefined
  readonly node: NodeView
  readonly inForce: Config
}

/** A dump in keepalived's words, into this file. */
export type DumpOrder = { readonly kind: DumpKind; readonly file: string; readonly dumped: Dumped }

export type WorkerMessage =
  | { readonly kind: 'snapshotWanted'; readonly id: number }
  | { readonly kind: 'parsed'; readonly id: number; readonly fresh: FreshConfig }
  /** `problem`: why not. */
  | { readonly kind: 'dumped'; readonly id: number; readonly problem: string | undefined }
  | { readonly kind: 'check'; readonly news: CheckNews }
  | { readonly kind: 'notify'; readonly news: NotifyNews }
  /**
   * A launcher for programs of a check or of notifications (docs/adr/0026). `channel`: the descriptor that it is to have, the engine's from
   * now on; the other end stays with the worker.
   */
  | { readonly kind: 'launchWanted'; readonly id: number; readonly programs: ProgramSet; readonly channel: number }
  | { readonly kind: 'listening' }
  | { readonly kind: 'failed'; readonly message: string }

export type EngineMessage =
  | { readonly kind: 'snapshot'; readonly id: number; readonly snapshot: Snapshot }
  | { readonly kind: 'parse'; readonly id: number; readonly order: ReadOrder }
  | { readonly kind: 'dump'; readonly id: number; readonly order: DumpOrder }
  | { readonly kind: 'checkOrder'; readonly order: CheckOrder }
  | { readonly kind: 'notifyOrder'; readonly order: NotifyOrder }
  | { readonly kind: 'launched'; readonly id: number; readonly refusal: Refusal | undefined }
  /** Open the port: said once, when what comes first has begun. */
  | { readonly kind: 'serve' }
