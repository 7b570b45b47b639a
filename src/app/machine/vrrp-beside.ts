/**
 * Finds other programs that speak VRRP in this network namespace, and describes them as text. This file decides that a
 * keepalived with VRRP is a reason not to run, because both would install the same addresses and remove those of the
 * other. Every other program is only a warning.
 */
import type { Peer } from '../../linux/process/socket-peer.ts'
import { isKeepalived, type VrrpSocketHolder, vrrpSocketHolders } from '../../linux/process/vrrp-socket-holder.ts'

export type VrrpBeside = {
  readonly keepalived: readonly VrrpSocketHolder[]
  readonly processes: readonly VrrpSocketHolder[]
  /** Reason why the daemon must not run beside another VRRP program; `undefined` if there is no such reason. */
  readonly refusal: string | undefined
  /** Warnings for a daemon that runs beside another VRRP program. */
  readonly warnings: readonly string[]
}

/** `guarded`: the parent process is the guardian, whose sockets belong to this daemon. */
export function vrrpBeside(guarded: boolean): VrrpBeside {
  const found = vrrpSocketHolders(guarded ? [process.pid, process.ppid] : [process.pid])
  return tell(found)
}

/**
 * Returns the texts about other VRRP programs. This function is separate from the search, so that tests can cover each
 * text.
 */
export function tell({ holders, closed, unseen }: ReturnType<typeof vrrpSocketHolders>): VrrpBeside {
  const certain = holders.filter(isKeepalived)
  // A socket holder cannot be identified, and a keepalived process cannot be examined. Together they are probably the
  // same process.
  const likely = certain.length === 0 && unseen > 0 ? closed : []
  const keepalived = [...certain, ...likely]
  const others = holders.filter((holder) => !isKeepalived(holder))
  const warnings = others.map((other) => `${named(other)} also speaks VRRP in this network namespace`)
  const subject = keepalived.map(named).join(' and ')
  const verb =
    certain.length > 0
      ? 'speaks VRRP in this network namespace'
      : 'probably speaks VRRP in this network namespace (the process cannot be examined, but a VRRP socket exists)'
  if (keepalived.length > 0) warnings.unshift(`${subject} ${verb}; running because of --force`)
  else if (unseen > 0)
    warnings.push('A process that cannot be seen from here has a VRRP socket in this network namespace')
  return {
    keepalived,
    processes: [...keepalived, ...others],
    refusal:
      keepalived.length === 0
        ? undefined
        : `Cannot run: ${subject} ${verb}: stop it first (systemctl disable --now keepalived), or remove VRRP from its configuration; --force runs anyway`,
    warnings,
  }
}

const named = ({ name, pid }: VrrpSocketHolder): string => `${name} (pid ${pid})`

/**
 * Returns the message that another daemon has the lock. Any local user can take the name of the lock, so the text names
 * the process.
 */
export function lockedText(by: Peer | undefined): string {
  const who = by === undefined ? '' : `: pid ${by.pid}, user ${by.uid}`
  return `Cannot run: another daemon already runs in this network namespace (it holds the socket @holdfast${who})`
}
