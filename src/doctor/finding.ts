/**
 * What `holdfast doctor` says: one finding a line, each with a level, what was measured and what to do. Decided here: the
 * levels and which of several is the worst. Refuses to know what is looked at, how a finding is printed and what exit status
 * follows.
 */

/** Note: worth knowing, nothing to do. Warning: it works, and will surprise. Error: it does not work, or endangers others. */
export const LEVELS = ['ok', 'note', 'warning', 'error'] as const
export type Level = (typeof LEVELS)[number]

/** Names of checks are for programs: a finding may change its words, never its name (docs/doctor.md lists them). */
export const CHECKS = [
  'timers',
  'interval',
  'realtime',
  'clock',
  'processor',
  'capabilities',
  'kernel',
  'time-namespace',
  'receive-buffer',
  'processes',
  'interface',
  'mtu',
  'ipv6',
  'reverse-path',
  'arp-settings',
  'forwarding',
  'network-manager',
  'packet-filter',
  'multicast',
  'vrid',
  'virtual-address',
  'primary-address',
  'peers',
] as const
export type Check = (typeof CHECKS)[number]

export type Finding = {
  readonly check: Check
  readonly level: Level
  /** What it is about: an interface, a virtual router; absent: the machine. */
  readonly about?: string
  readonly found: string
  /** What to do about it. */
  readonly advice?: string
}

export function worst(findings: readonly Pick<Finding, 'level'>[]): Level {
  const found = findings.reduce((most, { level }) => Math.max(most, LEVELS.indexOf(level)), 0)
  return LEVELS[found] ?? 'ok'
}

export function countOf(findings: readonly Finding[]): Readonly<Record<Level, number>> {
  const count = (level: Level) => findings.filter((one) => one.level === level).length
  return { ok: count('ok'), note: count('note'), warning: count('warning'), error: count('error') }
}
