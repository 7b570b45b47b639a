/**
 * The state of a virtual router in keepalived's terms, and the counters that keepalived has: for its dumps and for the
 * metric names of its exporter. The functions are not in dump.ts, so that a thread that serves metrics does not load
 * the reader of configurations. The functions are pure.
 */
import type { RouterSnapshot } from '../daemon/telemetry/snapshot.ts'

type KeepalivedState = (typeof STATES)[number]
/** keepalived's names of the states. Some outputs have the index in this list instead of the name. */
const STATES = ['INIT', 'BACKUP', 'MASTER', 'FAULT'] as const

/** Returns keepalived's number of a router's state, as in its JSON, in SNMP and in its exporters. */
export const keepalivedState = (router: RouterSnapshot): number => STATES.indexOf(stateName(router))

/**
 * Returns keepalived's name of a router's state. A router that waits for the first results is INIT and not FAULT,
 * because a probe that looks for FAULT would restart a pod that is just starting.
 */
export function stateName({ state, faults }: RouterSnapshot): KeepalivedState {
  switch (state) {
    case 'Active':
    case 'Leaving':
      return 'MASTER'
    case 'Backup':
    case 'Returning':
      return 'BACKUP'
    case 'Initialize':
      return faults.every((fault) => fault.startsWith('healthcheckUndecided:')) ? 'INIT' : 'FAULT'
  }
}

/** Counters that keepalived has for a virtual router. */
export type KeepalivedCounts = {
  readonly received: number
  /** Number of sent advertisements without those of priority 0. */
  readonly sent: number
  /** Number of transitions to Active, and of transitions from Active. */
  readonly begun: number
  readonly ended: number
  readonly length: number
  readonly ttl: number
  readonly type: number
  readonly interval: number
  readonly addressList: number
  readonly authenticationInvalid: number
  readonly authenticationMismatch: number
  readonly authenticationFailure: number
  readonly zeroReceived: number
  readonly zeroSent: number
}

/** Returns keepalived's counters for a virtual router. */
export function keepalivedCounts({ counters }: RouterSnapshot): KeepalivedCounts {
  const { received, receivedZero, sent, discarded, warnings, transitions } = counters
  const times = (isMeant: (step: { readonly from: string; readonly to: string }) => boolean) =>
    transitions.filter(isMeant).reduce((sum, { count }) => sum + count, 0)
  const of = (counts: Readonly<Record<string, number>>, ...keys: readonly string[]) =>
    keys.reduce((sum, key) => sum + (counts[key] ?? 0), 0)
  return {
    received,
    sent: of(sent, 'advertisement'),
    begun: times(({ to }) => to === 'Active'),
    ended: times(({ from, to }) => from === 'Active' && to !== 'Active'),
    length: of(discarded, 'length', 'truncated', 'truncated-ip'),
    ttl: of(discarded, 'ttl', 'ttl-range'),
    type: of(discarded, 'type'),
    interval: of(discarded, 'interval-mismatch') + of(warnings, 'interval-mismatch'),
    addressList: of(discarded, 'address-list-mismatch') + of(warnings, 'address-list-mismatch', 'addr-count-zero'),
    // An unknown authentication type counts as a mismatch.
    authenticationInvalid: 0,
    authenticationMismatch: of(discarded, 'auth-type'),
    authenticationFailure: of(discarded, 'auth-data'),
    zeroReceived: receivedZero,
    zeroSent: of(sent, 'priorityZero'),
  }
}
