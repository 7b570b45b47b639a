/**
 * Specification of one health check, as plain values with all defaults: when the check runs, how its results count, and
 * its target. Durations are in milliseconds. `check.ts` does not know how a probe works. The weight of a result belongs
 * to the router that tracks the check.
 */
import type { Millis } from '../wire/units.ts'

/** Times at which a check runs. */
export type Cadence = {
  readonly interval: Millis
  /**
   * Time between two runs while the result of a check is changing, and the shortest time between two runs that events
   * request.
   */
  readonly fastInterval: Millis
  /**
   * Share of the interval, 0 to 1, by which a run is randomly delayed, so that nodes do not run checks at the same
   * moments.
   */
  readonly jitter: number
}

/** Rules by which the results of a check count. */
export type HealthRule = {
  /** Number of successes in a row after which a check that is down counts as up. */
  readonly rise: number
  /** Number of failures in a row after which a check that is up counts as down. */
  readonly fall: number
  /**
   * Result of a check at its start. `firstResult`: the first run decides alone, regardless of rise and fall
   * (VR-TRK-05).
   */
  readonly initial: 'firstResult' | 'up' | 'down'
  /** How a check counts if its last result is too old: as before (`hold`), or as failed (`fail`). */
  readonly onUnknown: 'hold' | 'fail'
  /** Time for which the result of a check is valid. Without a new result in this time, the check becomes unknown. */
  readonly unknownAfter: Millis
}

/** First and last HTTP status that count as a success, both included: [200, 399]. */
export type StatusRange = readonly [number, number]

/**
 * Condition for the answer of a server: the answer contains a text, or matches a regular expression (ECMAScript, flags
 * `su`).
 */
export type Expectation =
  | { readonly kind: 'contains'; readonly text: string }
  | { readonly kind: 'matches'; readonly pattern: string }

export type TlsSpec = {
  readonly verify: boolean
  /** PEM file with certificate authorities. `undefined`: the certificate authorities that Node ships. */
  readonly caFile: string | undefined
  /** Server name in SNI and in the certificate. `undefined`: the host of the URL. */
  readonly serverName: string | undefined
}

export type HttpSpec = {
  readonly kind: 'http'
  /** Absolute URL of the target, with http: or https:. */
  readonly url: string
  readonly method: string
  /** HTTP headers with lower-case names. `host` replaces the URL's host in the first request, as curl -H does. */
  readonly headers: Readonly<Record<string, string>>
  readonly status: readonly StatusRange[]
  readonly body: Expectation | undefined
  /**
   * Number of redirects that are followed, as `curl -L --max-redirs`. 0: a redirect is not followed and counts by its
   * status.
   */
  readonly redirects: number
  readonly tls: TlsSpec
  /** Path of a unix socket that is used instead of the URL's host. */
  readonly unixSocket: string | undefined
  /**
   * True if the check keeps an idle connection, whose end triggers a run. To be off for servers that serve one
   * connection at a time.
   */
  readonly events: boolean
}

export type TcpSpec = {
  readonly kind: 'tcp'
  readonly host: string
  readonly port: number
  readonly send: string | undefined
  readonly expect: Expectation | undefined
  readonly events: boolean
}

export type ExecSpec = {
  readonly kind: 'exec'
  /** Program (absolute path) and its arguments. No shell is used. */
  readonly argv: readonly [string, ...string[]]
  /** Environment variables of the program besides PATH. By default a program gets only PATH. */
  readonly environment: Readonly<Record<string, string>>
  /** User of the program: a name in /etc/passwd or a number. `undefined`: the daemon's user. */
  readonly user: string | undefined
  /**
   * `keep`: the program has the daemon's capabilities, if its user is the daemon's own or root. `undefined`: the
   * program has no capabilities.
   */
  readonly capabilities?: 'keep' | undefined
  /**
   * Handling of a program that other users can change. `skip`: the program is not run, and the check has no result.
   * `run`: the program is run nevertheless. `undefined`: the check fails.
   */
  readonly unsafe?: 'skip' | 'run' | undefined
}

export type FileSpec = {
  readonly kind: 'file'
  readonly path: string
  /**
   * `present`: the check tests whether the file exists. `weight`: the file must contain an integer, which is reported
   * (VR-TRK-09).
   */
  readonly content: 'present' | 'weight'
}

export type ProcessSpec = {
  readonly kind: 'process'
  /** Process name as in /proc/PID/comm. Only the first 15 octets are compared, because the kernel keeps no more. */
  readonly name: string
  /** Least number of processes that must run. */
  readonly count: number
}

export type ProbeSpec = HttpSpec | TcpSpec | ExecSpec | FileSpec | ProcessSpec

export type CheckSpec = {
  readonly name: string
  readonly probe: ProbeSpec
  readonly timeout: Millis
  readonly cadence: Cadence
  readonly rule: HealthRule
}
