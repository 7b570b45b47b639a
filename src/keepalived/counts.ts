/**
 * What keepalived would call a state, and what it would count of a virtual router: for its dumps and for the names of its
 * exporter. A file of its own so that whoever serves metrics all day does not hold what reads a configuration. Pure.
 */
import type { RouterSnapshot } from '../daemon/telemetry/snapshot.ts'

type StateWord = (typeof STATES)[number]
/** A state is written as its place in this list, too. */
const STATES = ['INIT', 'BACKUP', 'MASTER', 'FAULT'] as const

/** As its JSON, its SNMP and the exporters write it. */
export const keepalivedState = (router: RouterSnapshot): number => STATES.indexOf(stateWord(router))

/** Waiting for the first results is no fault: a probe that looks for one would restart a pod that only starts. */
export function stateWord({ state, faults }: RouterSnapshot): StateWord {
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

/** What keepalived counts of a virtual router. */
export type KeepalivedCounts = {
  readonly received: number
  /** Without those of priority 0. */
  readonly sent: number
  /** To be Active, and to be it no more. */
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
    // A type that is no type at all is among the mismatches.
    authenticationInvalid: 0,
    authenticationMismatch: of(discarded, 'auth-type'),
    authenticationFailure: of(discarded, 'auth-data'),
    zeroReceived: receivedZero,
    zeroSent: of(sent, 'priorityZero'),
  }
}
