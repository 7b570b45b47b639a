/**
 * Names of the causes of incidents, and the advice for each. Programs read these names, so the names do not change;
 * docs/explain.md describes each cause. PURE.
 */

export const CAUSES = [
  'started',
  'stopped',
  'yielded',
  'engineDied',
  'engineRestarted',
  'engineUpgraded',
  'engineAway',
  'nodeDied',
  'died',
  'cut',
  'lossy',
  'discarded',
  'rejected',
  'carrierLost',
  'interfaceGone',
  'networkMoved',
  'addressNotReady',
  'checkFailed',
  'checkPassed',
  'interfaceTracked',
  'reloaded',
  'preempted',
  'fault',
  'guardianLost',
  'duplicateHolder',
  'foreignChange',
  'outranked',
  'rival',
  'forged',
  'healed',
  'twoActives',
  'reloadFailed',
  'released',
  'silent',
  'unknown',
] as const
export type Cause = (typeof CAUSES)[number]

/** Returns the cause of an incident for the name of a fault. */
export function ofFault(fault: string): Cause {
  if (fault === 'linkDown') return 'carrierLost'
  if (fault === 'interfaceMissing') return 'interfaceGone'
  if (fault === 'interfaceIsPort' || fault === 'sourceAddressMissing') return 'networkMoved'
  return 'fault'
}

/**
 * Advice for two Actives that both belong to this VRRP group. The advice to remove the VIP from the other host would be
 * wrong in that case.
 */
export const SPLIT_BRAIN =
  "these nodes do not receive each other's advertisements: check packet filter and switch between them. `holdfast doctor` on both nodes shows whether advertisements arrive."

/** Advice that avoids a repetition of the incident. `undefined` where nothing was wrong or no advice is known. */
export const PREVENTION: Readonly<Record<Cause, string | undefined>> = {
  started: undefined,
  stopped:
    'nothing is wrong: a stop hands the VIP over. `holdfast yield` before it shows that the successor works while this node can still take over again.',
  yielded: 'nothing is wrong: an operator asked for it.',
  engineDied:
    'find what ended the engine: the log has its exit status or signal, the kernel log an OOM kill. Usual causes: a memory limit below 110 MB, a debugger, `kill -9`. SIGTERM loses nothing.',
  engineRestarted:
    'find what ended the engine: the log has its exit status or signal, the kernel log an OOM kill. A second crash within a minute moves the addresses.',
  engineUpgraded: 'nothing is wrong: an operator asked for it.',
  engineAway:
    'give the engine CPU time: --realtime, no CPU limit on its container, no snapshots or live migration of the node; or use a longer interval. `holdfast doctor` measures how late this machine wakes.',
  nodeDied:
    'use a shorter advertisementInterval: a dead node is noticed after Active_Down_Interval, about three intervals. Stop nodes with SIGTERM and wait for the end.',
  died: 'find what ended it: the log has its exit status or signal, the kernel log an OOM kill; a reset machine logs nothing.',
  cut: 'add a second path between the nodes (a bond over two switches); check cable, switch port and packet filter. `holdfast doctor` on both nodes shows whether advertisements arrive.',
  lossy:
    'find the loss: error and drop counters of both ports and of the switch (`ip -s link`), a storm, a rate limit for multicast; or use a longer interval. Three lost advertisements in a row move the VIP.',
  discarded:
    'use one configuration on all nodes: version, authentication, interval and transport must agree. Until then both are Active. The log and `holdfast status` name the difference.',
  rejected:
    'nothing is wrong with this node: it counts and drops invalid packets. The journal names their sender; a packet filter on the switch keeps protocol 112 away from ports of hosts that are no routers.',
  carrierLost:
    'add a second port (a bond): a node without carrier cannot release the VIP, so the others wait for Active_Down_Interval.',
  interfaceGone:
    'keep the interface: it was deleted, or moved to another namespace. With `interface: auto` the router follows its network.',
  networkMoved:
    'run `holdfast yield` before such a change. With `interface: auto` the router follows its network to the new interface.',
  addressNotReady:
    'give the interface an address of its own: `ip address show` lists it. For IPv6 that is a link-local one; `tentative` means that the kernel still looks for a duplicate, `dadfailed` that it found one.',
  checkFailed:
    'fix the service; failover worked as configured. A check is down after `fall` failures; a greater `fall` ignores short failures.',
  checkPassed: 'use `preempt: false`, `preemptDelay` or a smaller weight, if the VIP should stay where it was.',
  interfaceTracked: 'keep the tracked interface up, or give it a smaller weight.',
  reloaded:
    'run `holdfast check` before a reload: it shows the priority that each virtual router gets from the changed configuration.',
  preempted: 'use `preempt: false` or `preemptDelay`, if the VIP should stay where it was.',
  fault: 'remove the fault; the router takes no part until then.',
  guardianLost:
    'keep the guardian alive: an engine without one stops, because nothing would remove its VIPs if it died. The log of the system shows what killed or froze it.',
  duplicateHolder:
    'remove the VIP from that host: the MAC table of the switch shows its port. If it only answers for others (proxy ARP), list its MAC in `duplicateAllowed`.',
  foreignChange:
    'configure that program to leave VIPs alone: NetworkManager, systemd-networkd, netplan and clean-up scripts are the usual ones. `holdfast doctor` finds the managers.',
  outranked:
    'find out which host that is. If it is a node of the group, list it under `peers`, and ask it (--peer URL). If not, `unicast` with `onlyListedPeers: true` ignores it, and so does a packet filter on the switch.',
  rival:
    'find out which host that is. A node of the group does not hear this one: ask it (--peer URL), and check the path between them. `unicast` with `onlyListedPeers: true` ignores other hosts.',
  forged: 'let protocol 112 pass only from the switch ports of routers: VRRPv3 has no authentication.',
  healed:
    'add a second path between the nodes: while it was cut both were Active, and each client reached one of them.',
  twoActives: SPLIT_BRAIN,
  reloadFailed: '`holdfast check FILE` before the reload shows every problem with its line.',
  released:
    'ask the other node: --peer with its URL or its journal, or list it under `api.peers`. Possible reasons: stop, yield, a failed check, a crashed or frozen engine.',
  silent:
    'ask the other node: --peer with its URL or its journal, or list it under `api.peers`. Possible reasons: it died, its link went down, or its advertisements were lost.',
  unknown: undefined,
}
