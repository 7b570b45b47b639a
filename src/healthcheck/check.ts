/**
 * What is asked of one health check, as plain values with every default filled in: when it runs, what its results come
 * to, and what it looks at. Durations are in ms. This file does not know how anything is asked, nor what a result is
 * worth to a router: weights belong to whoever tracks the check.
 */
import type { Millis } from '../wire/units.ts'

/** When a check runs. */
export type Cadence = {
  readonly interval: Millis
  /** Between runs while the result is changing, and at least between two looks that events ask for. */
  readonly fastInterval: Millis
  /** Share of the interval, 0 to 1, by which a slot is put off at random: nodes must not ask in step for ever. */
  readonly jitter: number
}

/** What results come to. */
export type HealthRule = {
  /** Successes in a row that make a check that is down go up. */
  readonly rise: number
  /** Failures in a row that make a check that is up go down. */
  readonly fall: number
  /** Where a check starts; `firstResult`: the first result decides alone, whatever rise and fall (VR-TRK-05). */
  readonly initial: 'firstResult' | 'up' | 'down'
  /** What a check counts as when nothing is known of it: as before, or as failed. */
  readonly onUnknown: 'hold' | 'fail'
  /** So long the last result stands when no other comes; then the check is unknown. */
  readonly unknownAfter: Millis
}

/** From and to, both included: [200, 399]. */
export type StatusRange = readonly [number, number]

/** What must be in an answer: a text, or a regular expression (ECMAScript, flags `su`). */
export type Expectation =
  | { readonly kind: 'contains'; readonly text: string }
  | { readonly kind: 'matches'; readonly pattern: string }

export type TlsSpec = {
  readonly verify: boolean
  /** PEM file; undefined: the authorities that Node ships. */
  readonly caFile: string | undefined
  /** Name in SNI and in the certificate; undefined: the host of the URL. */
  readonly serverName: string | undefined
}

export type HttpSpec = {
  readonly kind: 'http'
  /** http: or https:, absolute. */
  readonly url: string
  readonly method: string
  /** Lower-case names; `host` replaces the URL's for the first request, as curl -H does. */
  readonly headers: Readonly<Record<string, string>>
  readonly status: readonly StatusRange[]
  readonly body: Expectation | undefined
  /** How many redirects are followed, as `curl -L --max-redirs`; 0: a redirect is the answer. */
  readonly redirects: number
  readonly tls: TlsSpec
  /** Path of a unix socket to talk to instead of the URL's host. */
  readonly unixSocket: string | undefined
  /** Hold an idle connection whose end asks for a look. Off for servers that serve one connection at a time. */
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
  /** Program (absolute path) and arguments; never a shell. */
  readonly argv: readonly [string, ...string[]]
  /** Beside PATH, which is the only variable that a script gets unasked. */
  readonly environment: Readonly<Record<string, string>>
  /** A name of /etc/passwd or a number; undefined: as the daemon. */
  readonly user: string | undefined
  /** `keep`: those of the daemon, where the user is its own or root. undefined: none. */
  readonly capabilities?: 'keep' | undefined
  /** When others can change it: `skip`: it is not run, and says nothing; `run`. undefined: that is wrong, and a failure. */
  readonly unsafe?: 'skip' | 'run' | undefined
}

export type FileSpec = {
  readonly kind: 'file'
  readonly path: string
  /** `present`: it is there. `weight`: it holds an integer, which is reported (VR-TRK-09). */
  readonly content: 'present' | 'weight'
}

export type ProcessSpec = {
  readonly kind: 'process'
  /** As in /proc/PID/comm; longer names are compared by their first 15 bytes, as the kernel keeps them. */
  readonly name: string
  /** At least so many must run. */
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
