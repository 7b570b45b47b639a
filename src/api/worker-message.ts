/** What engine and worker say to each other. Values only; neither side shares memory with the other. */
import type { Config } from '../config/config.ts'
import type { ConfigDiff } from '../config/diff.ts'
import type { NodeView } from '../config/node-view.ts'
import type { Problem } from '../config/problem.ts'
import type { Snapshot } from '../daemon/snapshot.ts'

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
    }
  | { readonly ok: false; readonly problems: readonly Problem[] }

export type ReadOrder = {
  readonly file: string
  readonly node: NodeView
  readonly inForce: Config
}

export type WorkerMessage =
  | { readonly kind: 'snapshotWanted'; readonly id: number }
  | { readonly kind: 'parsed'; readonly id: number; readonly fresh: FreshConfig }
  | { readonly kind: 'listening' }
  | { readonly kind: 'failed'; readonly message: string }

export type EngineMessage =
  | { readonly kind: 'snapshot'; readonly id: number; readonly snapshot: Snapshot }
  | { readonly kind: 'parse'; readonly id: number; readonly order: ReadOrder }
