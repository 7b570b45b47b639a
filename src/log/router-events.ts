/** Log events of virtual routers: states, faults, neighbors, addresses, health checks and notifications. Pure. */
import { logEvents } from './log-event.ts'
import type { LogField } from './log-fields.ts'

const ADDRESS_CHANGE = ['router', 'address', 'prefixLength', 'interface', 'change', 'state', 'flags'] as const
const CAUSE = ['interface', 'code'] as const

export const ROUTER_EVENTS = logEvents<LogField>()({
  addressChangeFailed: {
    level: 'error',
    fields: ['router', 'address', 'code', 'suppressed'],
    means: 'The kernel refused to install or remove a VIP; the router goes into fault if it cannot hold the VIP',
    act: 'look at `code`, and at the interface (`ip address`)',
  },
  addressesRemovedByGuardian: {
    level: 'warn',
    fields: ['router', 'group', 'unit', 'ago', 'silent'],
    means: 'The guardian removed the addresses of the router, because the engine had stopped advertising',
    act: 'find out what stopped the engine: CPU load, swapping, SIGSTOP, a suspended machine',
  },
  addressNamed: {
    level: 'info',
    fields: ['file', 'suppressed'],
    means: 'An address file (`unicast.source` or `peers` with `file`) has another address',
  },
  addressNotNamed: {
    level: 'warn',
    fields: ['file', 'suppressed'],
    means: 'An address file cannot be read, or does not contain one IP address',
    act: 'mend the file, or the program that writes it',
  },
  advertisementIgnored: {
    level: 'debug',
    fields: ['router', 'peer', 'faults', 'suppressed'],
    means: 'A router in Initialize received an advertisement, which has no effect (RFC 9568 §6.4.1)',
  },
  advertisementUnusual: {
    level: 'warn',
    fields: ['router', 'warning', 'peer', 'suppressed'],
    means: 'A router accepted an advertisement that differs from its own configuration in `warning`',
    act: 'make the configuration of both routers the same (docs/neighbours.md)',
  },
  checkChanged: {
    level: 'info',
    or: 'warn',
    fields: ['check', 'from', 'to', 'since', 'effects', 'reason', 'latencyMs', 'suppressed'],
    means: 'The result of a health check changed. Warning: the check does not count as up',
    act: 'look at the service that the check tests; `effects` names the routers',
  },
  competingAnswer: {
    level: 'warn',
    or: 'info',
    fields: ['router', 'address', 'mac', 'suppressed'],
    means: 'Another host answered ARP or Neighbor Discovery for a VIP of this node. Info: just after a takeover',
    act: 'find the host by `mac`, and remove the VIP there',
  },
  duplicateHolder: {
    level: 'warn',
    fields: ['router', 'address', 'mac', 'peer', 'onDuplicate', 'suppressed'],
    means: 'Another host has a VIP that this node holds',
    act: 'find the host by `mac`, and remove the VIP there (docs/troubleshooting.md)',
  },
  duplicateHolderGone: {
    level: 'info',
    fields: ['router', 'address', 'mac', 'suppressed'],
    means: 'The duplicate holder no longer answers for the VIP',
  },
  duplicateHolderNamed: {
    level: 'warn',
    fields: ['router', 'mac', 'peer', 'suppressed'],
    means: 'The MAC address of a duplicate holder belongs to the router `peer`',
    act: 'look at the router `peer`: it has the VIP, although this node is Active',
  },
  faultCleared: {
    level: 'info',
    fields: ['router', 'fault', 'suppressed'],
    means: 'A fault of a router ended, and its state is the same',
  },
  faultRaised: {
    level: 'warn',
    or: 'info',
    fields: ['router', 'fault', 'suppressed'],
    means: 'A router has a fault, and its state is the same. Info: a health check has no result yet',
    act: 'mend what `fault` names (docs/operations.md)',
  },
  foreignChange: {
    level: 'warn',
    fields: [...ADDRESS_CHANGE, 'suppressed'],
    means: 'Another program installed or removed a VIP on this node',
    act: 'find the program: NetworkManager, systemd-networkd, keepalived, a script',
  },
  interfaceMoved: {
    level: 'info',
    fields: ['router', 'suppressed'],
    means: 'A router moved to the interface that now has its address',
  },
  interfaceNotOpened: {
    level: 'error',
    fields: [...CAUSE, 'suppressed'],
    means: 'The sockets of an interface cannot be opened; its routers wait in fault, and holdfast tries again',
    act: 'look at `code`: EPERM is a missing capability (docs/privileges.md)',
  },
  arpListenerNotOpened: {
    level: 'warn',
    fields: CAUSE,
    means: 'ARP and Neighbor Discovery cannot be received on an interface: no duplicate holder is found there',
    act: 'look at `code`: EPERM is a missing capability (docs/privileges.md)',
  },
  leftoverNotRemoved: {
    level: 'error',
    fields: ['address', 'code', 'suppressed'],
    means: 'A VIP that a reload removed from the configuration is still on this node; holdfast tries again',
    act: 'remove the VIP: `ip address del`',
  },
  ledgerNotRead: {
    level: 'warn',
    fields: [],
    means: '`addresses.json` of an earlier run cannot be read: addresses that the run left may stay',
    act: 'check `runDirectory`, and the addresses of this node',
  },
  ledgerNotWritten: {
    level: 'warn',
    fields: ['suppressed'],
    means: '`addresses.json` cannot be written: after a crash, addresses of removed routers may stay',
    act: 'check the disk of `runDirectory`',
  },
  moveSuppressed: {
    level: 'info',
    fields: ['router', 'peer', 'reason', 'suppressed'],
    means: 'A router does not take over or give up its VIPs yet, for `reason`',
  },
  notifyPostedAgain: {
    level: 'warn',
    fields: [],
    means: 'The thread that runs notify programs died; a new thread runs the notifications, some perhaps twice',
    act: 'look for an error in the lines before',
  },
  notifyRun: {
    level: 'info',
    or: 'warn',
    fields: ['router', 'group', 'notification', 'result', 'latencyMs', 'suppressed'],
    means: 'A notify program ended. Warning: it failed, was stopped, or could not be started',
    act: 'look at `result`, and run the program by hand',
  },
  notifySuperseded: {
    level: 'warn',
    fields: ['router', 'group', 'notification', 'result', 'suppressed'],
    means: 'A notify program did not run, because a later notification replaced this one',
    act: 'make the program faster, or give it more time (`timeout`)',
  },
  notifyUnfinished: {
    level: 'warn',
    fields: [],
    means: 'The daemon stops although notify programs still run',
    act: 'make the programs faster',
  },
  packetDiscarded: {
    level: 'warn',
    fields: ['interface', 'reason', 'peer', 'destination', 'vrid', 'vrrpVersion', 'router', 'suppressed'],
    means: 'A VRRP packet was discarded for `reason`',
    act: 'see docs/neighbours.md',
  },
  peerReached: {
    level: 'info',
    fields: ['router', 'peer', 'suppressed'],
    means: 'A unicast peer answers again; the peer may have been Active in the meantime',
  },
  peerWatchNotOpened: {
    level: 'warn',
    fields: CAUSE,
    means: 'The kernel does not report whether unicast peers answer: their return is noticed later',
    act: 'look at `code`',
  },
  priorityChanged: {
    level: 'info',
    fields: ['router', 'previous', 'priority'],
    means: 'The effective priority of a router changed by health checks or weights, or because its yield period ended',
  },
  restorationsPaused: {
    level: 'error',
    fields: [...ADDRESS_CHANGE, 'restorationsPausedUntilMs', 'suppressed'],
    means: 'Another program removes a VIP again and again; the router gives up its addresses for a while',
    act: 'find the program and stop it',
  },
  secondaryInterfaceNotOpened: {
    level: 'warn',
    fields: [...CAUSE, 'suppressed'],
    means: 'VIPs on a further interface cannot be announced to its hosts',
    act: 'look at `code`, and at the interface',
  },
  sendFailed: {
    level: 'warn',
    fields: ['router', 'code', 'destination', 'suppressed'],
    means: 'An advertisement could not be sent',
    act: 'look at `code`: ENETUNREACH and EHOSTUNREACH are routes, EPERM is a firewall',
  },
  socketFailed: {
    level: 'warn',
    fields: [...CAUSE, 'suppressed'],
    means: 'A socket of an interface reported an error',
    act: 'look at `code`, and at the interface (`ip link`)',
  },
  staleAddressLeft: {
    level: 'warn',
    fields: ['address'],
    means: 'An earlier run installed an address that may be the node’s only one; holdfast leaves it',
    act: 'remove the address if it is not the node’s own',
  },
  staleAddressNotRemoved: {
    level: 'error',
    fields: ['address'],
    means: 'A VIP that this node must not have cannot be removed',
    act: 'remove the VIP: `ip address del`',
  },
  staleAddressRemoved: {
    level: 'warn',
    fields: ['address'],
    means: 'holdfast removed a VIP that was on this node at the start or at a reload',
  },
  transition: {
    level: 'info',
    or: 'warn',
    fields: [
      ...(['router', 'group', 'vrid', 'interface', 'from', 'to', 'reason', 'priority', 'peer'] as const),
      ...(['unheeded', 'suppressed'] as const),
    ],
    means: 'A router changed its state. Warning: by a fault, or Active beside a router that it ignores',
    act: '`holdfast explain`; mend the fault (docs/operations.md)',
  },
  twoActives: {
    level: 'warn',
    fields: ['router', 'actives', 'forMs'],
    means: 'Two or more routers advertise as Active for the VRID',
    act: 'find out why they do not receive each other’s packets (docs/troubleshooting.md)',
  },
  twoActivesEnded: { level: 'info', fields: ['router', 'actives', 'forMs'], means: 'One router is Active again' },
  yieldChanged: {
    level: 'info',
    fields: ['router', 'forMillis'],
    means: 'An operator moved the VIPs of a router away (`holdfast yield`), or ended the yield period',
  },
})
