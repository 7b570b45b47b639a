/**
 * Why an address moved, or nearly did: the names that a story ends with, and what would have helped. For programs a name
 * stays; docs/explain.md has a line for each. PURE.
 */

export const CAUSES = [
  'started',
  'stopped',
  'yielded',
  'engineDied',
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
  'checkFailed',
  'checkPassed',
  'interfaceTracked',
  'reloaded',
  'preempted',
  'fault',
  'guardianLost',
  'duplicateOwner',
  'foreignChange',
  'outranked',
  'rival',
  'forged',
  'healed',
  'reloadFailed',
  'released',
  'silent',
  'unknown',
] as const
export type Cause = (typeof CAUSES)[number]

/** Of a fault: why there is one. */
export function ofFault(fault: string): Cause {
  if (fault === 'linkDown') return 'carrierLost'
  if (fault === 'interfaceMissing') return 'interfaceGone'
  if (fault === 'interfaceIsPort' || fault === 'sourceAddressMissing') return 'networkMoved'
  return 'fault'
}

/** Undefined: there is nothing to prevent. */
export const PREVENTION: Readonly<Record<Cause, string | undefined>> = {
  started: undefined,
  stopped:
    'nothing has to be: a stop hands the address over. `holdfast yield` before it shows that the successor works while this node can still take over again.',
  yielded: 'nothing was wrong: an operator has asked for it.',
  engineDied:
    'what killed the engine: the guardian logs how it ended (exit status, signal), the kernel logs an OOM kill. A memory limit of less than 110 MB, a debugger and `kill -9` are the usual ones. Stop it with SIGTERM and nobody notices.',
  engineAway:
    'an engine that runs when it has to: --realtime, no CPU limit on its container, no snapshots or live migration of the node; or a longer interval, because three of them are its patience. `holdfast doctor` measures how late this machine is.',
  nodeDied:
    'a shorter advertisementInterval: nobody can tell a dead node from a slow one before Active_Down_Interval is over, and that is three intervals and a bit. Whatever stops nodes should send SIGTERM first, and wait.',
  died: 'what killed it: the guardian logs how the engine ended (exit status, signal), the kernel logs an OOM kill; a node that was reset says nothing.',
  cut: 'a second path between the nodes (a bond over two switches), and a look at what was in between: cable, switch port, packet filter. `holdfast doctor` on both nodes at once tells whether advertisements arrive.',
  lossy:
    'a network that loses less: errors and drops in the counters of both ports and of the switch (`ip -s link`), a storm, a rate limit for multicast; or a longer interval. One lost advertisement is nothing; three in a row move the address.',
  discarded:
    'one configuration on all nodes: version, authentication, interval and transport have to agree. Until then both are Active. The log and `holdfast status` name what differs.',
  rejected:
    'nothing is wrong with this node: what is no advertisement of its group is counted and dropped. Who sends it is in the journal; a packet filter on the switch keeps protocol 112 away from ports of hosts that are no routers.',
  carrierLost:
    'a second port (a bond): a node without carrier can tell nobody, so that the others wait for Active_Down_Interval.',
  interfaceGone:
    'leaving the interface there: it was deleted, or moved to another namespace. With `interface: auto` the router comes back wherever its network does.',
  networkMoved:
    'doing that while the address is elsewhere: `holdfast yield` first. With `interface: auto` the router follows its network to the new interface.',
  checkFailed:
    'a service that works: the address did what it was told. It is noticed after `fall` failures, `fastInterval` apart; if the service came back by itself a moment later, a greater `fall` would have kept the address where it was.',
  checkPassed:
    'preempt: false, or preemptDelay, or a smaller weight: the address came back because this node is better when its service works.',
  interfaceTracked: 'an interface that stays up, or a smaller weight for it.',
  reloaded:
    'the old configuration: the new one says so. `holdfast check` shows what each priority comes to before a reload.',
  preempted: 'preempt: false or preemptDelay: the address goes to the highest priority as soon as that node is there.',
  fault: 'what the fault names; the router takes no part until it is gone.',
  guardianLost:
    'a guardian that lives: an engine without one leaves, because nobody would take its addresses off if it died. Who killed it, or froze it, is in the log of the system.',
  duplicateOwner:
    'taking the address from that host: its MAC is in the table of the switch. If it only answers for others (proxy ARP), `duplicateAllowed` names it.',
  foreignChange:
    'telling whoever does that to leave virtual addresses alone: NetworkManager, systemd-networkd, netplan and clean-up scripts are the usual ones. `holdfast doctor` finds the managers.',
  outranked:
    'knowing who that is: its journal (`--peer`) if it is a node of the group; otherwise a stranger with the same VRID, and VRRP cannot tell it from one of its own: `unicast` with `onlyListedPeers: true` does, and so does a packet filter on the switch.',
  rival:
    'knowing who that is: a node of the group that does not hear this one (`--peer` with its URL tells), or a stranger with the same VRID; `unicast` with `onlyListedPeers: true` does not listen to those.',
  forged:
    'a LAN on which nobody can speak in the name of a router: VRRPv3 has no authentication. A packet filter on the switch lets protocol 112 pass only from the ports of routers.',
  healed:
    'a second path between the nodes: while it was cut each was sure to be alone, and clients reached the one that they could.',
  reloadFailed: '`holdfast check FILE` before the reload tells every problem with its line.',
  released:
    'that is known on the other node alone: told to stop or to yield, a failed service, or a guardian that has acted for a dead or a frozen engine. `--peer` with its URL, or its journal, tells which.',
  silent:
    'that is known on the other node alone: it died with everything, its link went down, or what it said did not arrive. `--peer` with its URL, or its journal, tells which.',
  unknown: undefined,
}
