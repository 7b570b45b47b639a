/**
 * Settings of the TCP port, and what it reports to its thread's owner. Values only. This file does not know threads.
 */
import type { Config } from '../config/config.ts'

export type PortSettings = {
  /** False: nothing is served. What another address than loopback means: docs/privileges.md. */
  readonly listen: { readonly host: string; readonly port: number } | false
  /** Other machines may ask, by whatever name they know. */
  readonly isPublic: boolean
  readonly version: string
  readonly metricsCompat: Config['api']['metricsCompat']
  /** URLs of the API of the other nodes. */
  readonly peers: readonly string[]
}

export type PortNews =
  | { readonly kind: 'listening' }
  /** `message`: why the port, or a part of it, cannot be served. */
  | { readonly kind: 'failed'; readonly message: string }

/** The answer of /metrics. */
export type MetricsText = { readonly contentType: string; readonly body: string }
