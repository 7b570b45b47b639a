/** What engine and worker say to each other. Values only; neither side shares memory with the other. */
import type { Snapshot } from '../daemon/snapshot.ts'

export type WorkerSettings = { readonly host: string; readonly port: number; readonly version: string }
export type WorkerMessage =
  | { readonly kind: 'snapshotWanted'; readonly id: number }
  | { readonly kind: 'listening' }
  | { readonly kind: 'failed'; readonly message: string }
export type EngineMessage = { readonly id: number; readonly snapshot: Snapshot }
