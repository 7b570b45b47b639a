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
  "the Active nodes do not receive each other's advertisements: check packet filter and switch between the nodes. `holdfast doctor` on both nodes shows whether advertisements arrive."

/** Advice that avoids a repetition of the incident. `undefined` where nothing was wrong or no advice is known. */
export const PREVENTION: Readonly<Record<Cause, string | undefined>> = {
  started: undefined,
  stopped:
    'nothing is wrong: a stop hands the VIP over. Before a stop, `holdfast yield` shows whether the successor works, while this node can still take over again.',
  yielded: 'nothing is wrong: an operator moved the VIP with `holdfast yield`.',
  engineDied:
    'find what ended the engine: the log has the exit status or signal of the engine, the kernel log shows an OOM kill. Usual causes: a memory limit below 110 MB, a debugger, `kill -9`. To stop holdfast without a failover, send SIGTERM.',
  engineRestarted:
    'find what ended the engine: the log has the exit status or signal of the engine, the kernel log shows an OOM kill. If the engine crashes again within a minute, the addresses move to another node.',
  engineUpgraded: 'nothing is wrong: an operator replaced the engine with `holdfast upgrade`.',
  engineAway:
    'give the engine CPU time: use --realtime, set no CPU limit on the container of holdfast. Make no snapshots or live migration of the node. If this is not possible, use a longer advertisementInterval. `holdfast doctor` measures how late this machine wakes a process.',
  nodeDied:
    'use a shorter advertisementInterval: the other nodes notice a dead node after Active_Down_Interval, about three intervals. Before a node is switched off, stop holdfast with SIGTERM and wait until it has ended.',
  died: 'find what ended holdfast: the log has the exit status or signal of the engine, the kernel log shows an OOM kill. A machine that was reset logs nothing.',
  cut: 'add a second path between the nodes (a bond over two switches); check cable, switch port and packet filter. `holdfast doctor` on both nodes shows whether advertisements arrive.',
  lossy:
    'find where advertisements are lost: read the error and drop counters of both nodes (`ip -s link`) and of the switch. Look for a broadcast storm and for a rate limit for multicast. A longer advertisementInterval bridges longer losses. Three lost advertisements in a row move the VIP.',
  discarded:
    'use one configuration on all nodes: version, authentication, interval and transport must agree. While the configurations differ, two nodes are Active. The log and `holdfast status` name the difference.',
  rejected:
    'nothing is wrong with this node: holdfast counts and drops invalid packets. The event journal names the sender of these packets. To block them, let the switch accept IP protocol 112 (VRRP) only from the ports of VRRP routers.',
  carrierLost:
    'add a second port (a bond): a node without carrier cannot release the VIP, so the other nodes wait for Active_Down_Interval before one of them takes over.',
  interfaceGone:
    'do not delete the interface of a router, or move it to another namespace. With `interface: auto` the router follows its network to another interface.',
  networkMoved:
    'run `holdfast yield` before the address of an interface is removed, or the interface becomes the port of a bridge or bond. With `interface: auto` the router follows its network to the new interface.',
  addressNotReady:
    'give the interface an address of its own, for IPv6 a link-local address. `ip address show` lists the addresses: `tentative` means that the kernel still looks for a duplicate, `dadfailed` that the kernel found a duplicate.',
  checkFailed:
    'fix the service that the health check tests; the failover worked as configured. A check is down after `fall` failures; a greater `fall` ignores short failures.',
  checkPassed:
    'use `preempt: false`, `preemptDelay` or a smaller weight, if the VIP should stay on the node that has it.',
  interfaceTracked: 'keep the tracked interface up, or give it a smaller weight.',
  reloaded:
    'run `holdfast check` before a reload: it shows the priority that each virtual router gets from the changed configuration.',
  preempted: 'use `preempt: false` or `preemptDelay`, if the VIP should stay on the node that has it.',
  fault: 'remove the fault: a virtual router in fault does not take part in the election.',
  guardianLost:
    'keep the guardian alive: an engine without a guardian stops, because nothing would remove the VIPs if the engine died. The log of the system shows what killed or froze the guardian.',
  duplicateHolder:
    'remove the VIP from the other host: the MAC table of the switch shows the port of the host. If the host only answers for other hosts (proxy ARP), list its MAC in `duplicateAllowed`.',
  foreignChange:
    'configure the other program so that it does not change VIPs. Usual programs are NetworkManager, systemd-networkd, netplan and clean-up scripts. `holdfast doctor` finds network managers.',
  outranked:
    'find out which host took the VIP over. If the host is a node of the group, list it under `peers`, and read its journal (--peer URL). If the host is foreign, block it by a packet filter on the switch, or ignore it by `unicast` with `onlyListedPeers: true`.',
  rival:
    'find out which host is the other Active. If the host is a node of the group, it does not receive the advertisements of this node: read its journal (--peer URL), and check the path between the nodes. If the host is foreign, ignore it by `unicast` with `onlyListedPeers: true`.',
  forged: 'let IP protocol 112 (VRRP) pass only from the switch ports of routers: VRRPv3 has no authentication.',
  healed:
    'add a second path between the nodes: while the only path was cut, two nodes were Active, and each client reached one of the two.',
  twoActives: SPLIT_BRAIN,
  reloadFailed: 'run `holdfast check FILE` before a reload: it shows every problem of the file with its line.',
  released:
    'read the journal of the other node: give its URL or journal file as --peer, or list its URL under `api.peers`. Possible reasons for a release: stop, yield, a failed check, a crashed or frozen engine.',
  silent:
    'read the journal of the other node: give its URL or journal file as --peer, or list its URL under `api.peers`. Possible reasons for the silence: the other node died, its link went down, or its advertisements were lost.',
  unknown: undefined,
}
