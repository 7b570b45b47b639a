/**
 * What else speaks VRRP in this network namespace, as sentences for whoever starts a daemon here. Decided here: a
 * keepalived with VRRP is a reason not to run, because both would install the same addresses and each takes the other's
 * away; everything else is worth a warning. Refuses to know how such a process is found.
 */
import type { Peer } from '../../linux/process/socket-peer.ts'
import { isKeepalived, type VrrpSocketHolder, vrrpSocketHolders } from '../../linux/process/vrrp-socket-holder.ts'

export type VrrpBeside = {
  readonly keepalived: readonly VrrpSocketHolder[]
  readonly processes: readonly VrrpSocketHolder[]
  /** Why not to run; undefined: no reason. */
  readonly refusal: string | undefined
  /** For those who run all the same. */
  readonly warnings: readonly string[]
}

/** `guarded`: our parent is the guardian, whose sockets are ours. */
export function vrrpBeside(guarded: boolean): VrrpBeside {
  const found = vrrpSocketHolders(guarded ? [process.pid, process.ppid] : [process.pid])
  return tell(found)
}

/** Apart from the looking, so that every sentence can be asked for. */
export function tell({ holders, closed, unseen }: ReturnType<typeof vrrpSocketHolders>): VrrpBeside {
  const certain = holders.filter(isKeepalived)
  // Somebody has a socket who cannot be looked at, and so cannot a keepalived: that is as far as the evidence goes.
  const likely = certain.length === 0 && unseen > 0 ? closed : []
  const keepalived = [...certain, ...likely]
  const others = holders.filter((holder) => !isKeepalived(holder))
  const warnings = others.map((other) => `${named(other)} also speaks VRRP in this network namespace`)
  const subject = keepalived.map(named).join(' and ')
  const verb =
    certain.length > 0
      ? 'speaks VRRP in this network namespace'
      : 'probably speaks VRRP in this network namespace (it cannot be looked at, but its kind of socket is here)'
  if (keepalived.length > 0) warnings.unshift(`${subject} ${verb}: going on because of --force`)
  else if (unseen > 0)
    warnings.push('Another process, which cannot be seen from here, has a socket for VRRP in this network namespace')
  return {
    keepalived,
    processes: [...keepalived, ...others],
    refusal:
      keepalived.length === 0
        ? undefined
        : `Cannot run: ${subject} ${verb}: stop it first (systemctl disable --now keepalived), or take VRRP out of its configuration; --force runs beside it`,
    warnings,
  }
}

const named = ({ name, pid }: VrrpSocketHolder): string => `${name} (pid ${pid})`

/** Any local user may take the name of the lock, so the sentence says who it was. */
export function lockedWords(by: Peer | undefined): string {
  const who = by === undefined ? '' : `: pid ${by.pid}, user ${by.uid}`
  return `Cannot run: another daemon already runs in this network namespace (it holds the socket @holdfast${who})`
}
