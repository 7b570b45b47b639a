/**
 * Settings of the TCP port, and its reports to the engine. Values only. This file does not know threads.
 */
import type { Config } from '../config/config.ts'

export type PortSettings = {
  /**
   * Address of the HTTP port. False if the daemon has no port. `docs/privileges.md` describes addresses other than
   * loopback.
   */
  readonly listen: { readonly host: string; readonly port: number } | false
  /** True if other machines may connect, by any host name. */
  readonly isPublic: boolean
  readonly version: string
  readonly metricsCompat: Config['api']['metricsCompat']
  /** URLs of the API of the other nodes. */
  readonly peers: readonly string[]
}

export type PortNews =
  | { readonly kind: 'listening' }
  /** `message` is the reason why the HTTP port, or a part of it, cannot be served. */
  | { readonly kind: 'failed'; readonly message: string }

/** The answer of /metrics. */
export type MetricsText = { readonly contentType: string; readonly body: string }
