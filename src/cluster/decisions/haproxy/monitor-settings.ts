/**
 * Settings of HAProxy's monitor: those of its command line, and the two profiles. This file decides how often the
 * monitor checks HAProxy, how many answers change its decision, and how long a rule lives without a monitor.
 */
import type { LogFormat } from '../../../config/config.ts'
import type { Address } from '../../../wire/address.ts'
import type { Thresholds } from './health.ts'

export const PROFILES = ['fast', 'upstream'] as const
export type ProfileName = (typeof PROFILES)[number]

export type Profile = {
  /** Milliseconds between two checks of HAProxy; `undefined`: one check in each check interval. */
  readonly every: number | undefined
  /** Milliseconds after which a check without an answer is bad. */
  readonly timeout: number
  readonly thresholds: Thresholds
  /** True if the end of an idle connection to HAProxy causes a check immediately. */
  readonly followsEnd: boolean
  /**
   * True if rules of an earlier run stay until a check is bad. If this is false, such rules are removed at the start,
   * as by upstream's monitor.
   */
  readonly adoptsRules: boolean
  /** Seconds for which the rules work without a monitor; `undefined`: for ever, as upstream's rules. */
  readonly lifetime: number | undefined
  /** Milliseconds between two refreshes of the lifetime; `undefined`: in each check interval. */
  readonly refreshEvery: number | undefined
  /** True if the first configuration of a node is written without waiting for further equal ones. */
  readonly startsAtOnce: boolean
  readonly checkInterval: number
}

export const PROFILE: Readonly<Record<ProfileName, Profile>> = {
  fast: {
    every: 250,
    timeout: 1_000,
    thresholds: { on: 3, off: 1 },
    followsEnd: true,
    adoptsRules: true,
    lifetime: 10,
    refreshEvery: 3_000,
    startsAtOnce: true,
    checkInterval: 1_000,
  },
  upstream: {
    every: undefined,
    timeout: 5_000,
    thresholds: { on: 3, off: 11 },
    followsEnd: false,
    adoptsRules: false,
    lifetime: undefined,
    refreshEvery: undefined,
    startsAtOnce: false,
    checkInterval: 6_000,
  },
}

export type MonitorSettings = {
  readonly kubeconfig: string
  /** Path of the template of haproxy.cfg. */
  readonly template: string
  /** Path of haproxy.cfg. */
  readonly file: string
  readonly vips: readonly Address[]
  readonly apiPort: number
  readonly lbPort: number
  readonly statPort: number
  /** Milliseconds between two comparisons of haproxy.cfg with the cluster. */
  readonly checkInterval: number
  readonly profile: Profile
  /** HAProxy's program, which checks a configuration before HAProxy gets it. */
  readonly haproxy: string
  /** Path of the socket to which `reload` is sent. */
  readonly socket: string
  readonly stateDirectory: string
  /** State folder of the agent of this node, whose nodes are used; `undefined`: the monitor watches the nodes itself. */
  readonly nodesFrom: string | undefined
  /** Address and port of the monitor's metrics; `undefined`: the monitor opens no port. */
  readonly listen: { readonly host: string; readonly port: number } | undefined
  readonly logFormat: LogFormat | undefined
}

/** Path at which upstream's pod has the socket of HAProxy. */
export const HAPROXY_SOCKET = '/var/run/haproxy/haproxy-master.sock'
/** Name of the file beside the socket that exists while HAProxy is about to stop (bin/holdfast-haproxy). */
export const STOPPING_FILE = 'stopping'
/** Port on which HAProxy tells whether it has a backend. The template names it, and upstream's monitor has it fixed. */
export const HEALTH_PORT = 9454
export const HEALTH_PATH = '/haproxy_monitor'
