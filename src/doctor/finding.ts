/**
 * A finding of `holdfast doctor`: its level, what was measured, and what to do. This file decides the levels, and which
 * of several levels is the worst. This file knows nothing about what is examined, how a finding is printed, and the
 * exit status.
 */

/**
 * Levels of a finding. Note: worth knowing, no action needed. Warning: the daemon works, with unexpected effects.
 * Error: the daemon does not work, or endangers other hosts.
 */
export const LEVELS = ['ok', 'note', 'warning', 'error'] as const
export type Level = (typeof LEVELS)[number]

/**
 * Names of the checks of `holdfast doctor`. Programs read them, so a finding may change its text but not its name
 * (docs/doctor.md lists them).
 */
export const CHECKS = [
  'timers',
  'interval',
  'realtime',
  'clock',
  'processor',
  'capabilities',
  'seccomp',
  'lease',
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
  /** Interface or virtual router of the finding; absent if the finding concerns the machine. */
  readonly about?: string
  readonly found: string
  /** Action by which the operator can resolve the finding; absent if there is none. */
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
