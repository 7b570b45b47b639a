/** Maps the name of each daemon to its class. This file knows nothing else about the daemons. */
import type { DaemonKind, StartDaemon } from './daemon.ts'
import { Frr } from './frr.ts'
import { Holdfast } from './holdfast.ts'
import { Keepalived } from './keepalived.ts'

const START: Readonly<Record<DaemonKind, StartDaemon>> = {
  holdfast: (lab, plan) => new Holdfast(lab, plan),
  keepalived: (lab, plan) => new Keepalived(lab, plan),
  frr: (lab, plan) => new Frr(lab, plan),
}

export function startDaemon(kind: DaemonKind, ...rest: Parameters<StartDaemon>): ReturnType<StartDaemon> {
  return START[kind](...rest)
}
