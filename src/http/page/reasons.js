/** Texts of reasons and faults, made from src/vrrp/reason-text.ts by `make docs`: change them there. */

/** @type {Readonly<Record<string, string>>} */
export const REASONS = {
  startup: 'it has started',
  owner: 'it owns the address (priority 255)',
  activeSilent: 'no other router was heard',
  activeReleased: 'the previous Active released the address (priority 0)',
  activeDemoted: 'the previous Active lowered its priority',
  lowerPriorityActive: 'the previous Active had a lower priority',
  noSuccessor: 'no other router took over',
  nobodyElse: 'no other host had the address when this node ran again',
  higherPriorityHeard: 'it heard a router with a higher priority',
  higherAddressHeard: 'it heard a router of the same priority with a higher address',
  successorHeard: 'its successor has taken over',
  faultCleared: 'its fault is gone',
  shutdown: 'it was ordered to stop',
  yield: 'it was ordered to yield',
  willExecuted: 'its guardian removed the address while the engine was late',
  stalled: 'its engine had not run for too long',
  activeHeard: 'another router advertised while this node did not run',
  addressClaimed: 'another host had the address when this node ran again',
  receptionLost: 'it may have missed advertisements while this node did not run',
  linkWasDown: 'its link was down while this node did not run',
  configured: 'its configuration has a fault',
  interfaceMissing: 'its interface is missing',
  linkDown: 'its link is down',
  interfaceIsPort: 'its interface is a port of a bridge or bond',
  sourceAddressMissing: 'its interface has no address to send from',
  socketFailed: 'its socket failed',
  vridTaken: 'another router of this node has its VRID',
  messageTooLarge: 'its advertisement does not fit into the MTU',
  restorationsPaused: 'another program keeps removing its address',
  addressInstallFailed: 'its address could not be installed',
  duplicateHolder: 'another router has its address and would win the election',
}

/** Faults with a name, which replaces NAME. @type {Readonly<Record<string, string>>} */
export const NAMED_FAULTS = {
  addressInterfaceDown: 'the interface NAME, which gets an address, is down',
  trackedInterfaceDown: 'the interface NAME, which it tracks, is down',
  healthcheckDown: 'the health check NAME is down',
  healthcheckUndecided: 'the health check NAME has no result yet',
  syncGroup: 'it follows NAME (same sync group)',
}
