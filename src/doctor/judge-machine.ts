/**
 * Judges the machine apart from its networks: privileges, kernel, processor, and other daemons. PURE. This file knows
 * nothing about how the machine was examined. Timers are judged in judge-timers.ts.
 */
import type { Finding } from './finding.ts'
import type { MachineState, Measured, NeighbourProcess } from './measurement.ts'

const mebi = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(bytes < 10 * 1024 * 1024 ? 2 : 0)} MiB`
/**
 * Octets that one advertisement takes in a receive buffer. A default buffer of 208 KiB holds 256 advertisements (ground
 * rule 2).
 */
const OCTETS_PER_ADVERTISEMENT = 832

export function machineFindings({ machine, routers }: Measured): readonly Finding[] {
  return [
    capabilities(machine),
    ...seccomp(machine),
    ...lease(machine),
    kernel(machine),
    ...processor(machine),
    receiveBuffer(machine),
    ...timeNamespace(machine),
    ...forwarding(machine),
    ...machine.processes.flatMap((process) => beside(process, machine)),
    ...unseen(machine),
    ...(routers.length > 0 || machine.processes.some(({ vrrp }) => vrrp) ? [] : [nobody()]),
  ]
}

/**
 * Judges capabilities. A running daemon is judged by its own capabilities, because the user of this command may have
 * fewer.
 */
function capabilities({ daemon, missingCapabilities: missing, user }: MachineState): Finding {
  const who = daemon === undefined ? `user ${user} of this command` : `the running daemon (pid ${daemon})`
  if (missing.length === 0)
    return { check: 'capabilities', level: 'ok', found: `${who} has CAP_NET_ADMIN and CAP_NET_RAW` }
  const lacks = `${who} lacks ${missing.join(' and ')}`
  const found = daemon === undefined ? `${lacks}, so a daemon of this user cannot start` : lacks
  return {
    check: 'capabilities',
    level: 'error',
    found,
    advice: 'Run it as root, or grant the capabilities (docs/privileges.md)',
  }
}

/** Judges the guardian of a running daemon. */
function seccomp({ guardianConfined }: MachineState): readonly Finding[] {
  if (guardianConfined === undefined) return []
  if (guardianConfined)
    return [{ check: 'seccomp', level: 'ok', found: 'the guardian of the running daemon has a filter of its own' }]
  const found = 'the guardian of the running daemon has no filter of its own, and may use every system call'
  return [{ check: 'seccomp', level: 'note', found, advice: 'Look for the event notConfined in the log of the daemon' }]
}

function lease({ lease: found }: MachineState): readonly Finding[] {
  if (found === undefined) return []
  return [
    {
      check: 'lease',
      level: 'note',
      found,
      advice: 'Nothing is wrong; with lease: off doctor does not print this note',
    },
  ]
}

function kernel({ clockSource, kernel: release, missingFeatures, processors }: MachineState): Finding {
  const about = `Linux ${release}, ${processors} CPUs${clockSource === undefined ? '' : `, clock source ${clockSource}`}`
  if (missingFeatures.length > 0) {
    return {
      check: 'kernel',
      level: 'error',
      found: `${about}: missing ${missingFeatures.join(', ')}`,
      advice: 'Linux 5.4 or newer is needed',
    }
  }
  if (clockSource === 'acpi_pm' || clockSource === 'hpet' || clockSource === 'jiffies') {
    return {
      check: 'kernel',
      level: 'note',
      found: `${about}: this clock source is slow or coarse`,
      advice: 'Use tsc or the clock of the hypervisor (kvm-clock, hyperv_clocksource_tsc_page)',
    }
  }
  return { check: 'kernel', level: 'ok', found: about }
}

function processor({ durationMs, pressureMs, stolenShare, throttled }: MachineState): readonly Finding[] {
  const findings: Finding[] = []
  if (throttled !== undefined && throttled > 0) {
    findings.push({
      check: 'processor',
      level: 'warning',
      found: `the CPU limit of this cgroup stopped its processes ${throttled === 1 ? 'once' : `${throttled} times`} during the measurement; real-time priority does not help`,
      advice: 'Set no CPU limit for the daemon (resources.limits.cpu, CPUQuota=)',
    })
  }
  if (stolenShare !== undefined && stolenShare > 0.01) {
    findings.push({
      check: 'processor',
      level: stolenShare > 0.1 ? 'warning' : 'note',
      found: `the hypervisor gave ${(100 * stolenShare).toFixed(1)} % of the CPU time to other machines`,
      advice: 'Reserve CPUs for this machine',
    })
  }
  if (pressureMs !== undefined && pressureMs > durationMs / 2) {
    findings.push({
      check: 'processor',
      level: 'note',
      found: `for ${((100 * pressureMs) / durationMs).toFixed(0)} % of the time a process waited for a CPU: the figures are those of a busy machine`,
    })
  }
  return findings
}

function receiveBuffer(state: MachineState): Finding {
  const { missingCapabilities, receiveBufferLimit: limit, receiveBufferWanted: wanted } = state
  const forced = !missingCapabilities.includes('CAP_NET_ADMIN')
  if (limit === undefined && !forced)
    return { check: 'receive-buffer', level: 'note', found: 'net.core.rmem_max cannot be read' }
  if (forced || (limit !== undefined && limit >= wanted)) {
    const found = `${mebi(wanted)} for received packets${forced ? ' (past net.core.rmem_max, with CAP_NET_ADMIN)' : ''}`
    return { check: 'receive-buffer', level: 'ok', found }
  }
  const got = limit ?? 0
  return {
    check: 'receive-buffer',
    level: 'warning',
    found: `net.core.rmem_max allows ${mebi(got)} of ${mebi(wanted)}, room for about ${Math.floor(got / OCTETS_PER_ADVERTISEMENT)} advertisements; a full queue drops the newest`,
    advice: `Grant CAP_NET_ADMIN, or set net.core.rmem_max=${wanted}`,
  }
}

function timeNamespace({ monotonicOffset, timeNamespaceChanges }: MachineState): readonly Finding[] {
  if (timeNamespaceChanges) {
    return [
      {
        check: 'time-namespace',
        level: 'error',
        found:
          'children of this process get another time namespace: guardian and engine would have different CLOCK_MONOTONIC, and the guardian would remove addresses at wrong times',
        advice: 'Enter the time namespace before the daemon starts',
      },
    ]
  }
  if (monotonicOffset === 0) return []
  const found = `CLOCK_MONOTONIC is shifted by ${(monotonicOffset / 1e9).toFixed(3)} s in this time namespace; this is harmless, because guardian and engine share it`
  return [{ check: 'time-namespace', level: 'note', found }]
}

/**
 * Reports IP forwarding. Forwarding hides stale neighbour entries, and Kubernetes nodes have forwarding on; both
 * settings were measured (docs/performance.md).
 */
function forwarding({ ipForward }: MachineState): readonly Finding[] {
  if (ipForward === undefined) return []
  const found = ipForward
    ? 'net.ipv4.ip_forward is 1: a node that no longer has the address forwards late packets to the new holder'
    : 'net.ipv4.ip_forward is 0: a client with a stale neighbour entry gets no answer until it learns the new holder'
  return [{ check: 'forwarding', level: 'ok', found }]
}

const named = ({ name, pid }: NeighbourProcess): string => `${name} (pid ${pid})`

function beside(process: NeighbourProcess, machine: MachineState): readonly Finding[] {
  const { name, policy, vrrp } = process
  if (name.startsWith('holdfast')) {
    return [
      {
        check: 'processes',
        level: 'ok',
        found: `${named(process)} runs here${policy === undefined ? '' : `, ${policy}`}`,
      },
    ]
  }
  if (vrrp && name.startsWith('keepalived')) {
    const both = machine.processes.some((other) => other.vrrp && other.name.startsWith('holdfast'))
    return [
      {
        check: 'processes',
        level: both ? 'error' : 'note',
        found: `${named(process)} speaks VRRP in this network namespace${both ? ' beside holdfast: both install the same addresses and remove those of the other' : ': holdfast refuses to start beside it'}`,
        advice: both
          ? 'Stop this process or holdfast'
          : 'Stop this process before holdfast starts (systemctl disable --now keepalived)',
      },
    ]
  }
  if (vrrp) {
    const found = `${named(process)} has a socket for VRRP in this network namespace`
    return [
      {
        check: 'processes',
        level: 'warning',
        found,
        advice: 'Make sure that this process uses other VRIDs and addresses than holdfast',
      },
    ]
  }
  if (name === 'kube-vip') {
    const found = `${named(process)} runs here: it holds virtual addresses by ARP, without VRRP`
    return [
      {
        check: 'processes',
        level: 'warning',
        found,
        advice: 'Give kube-vip and holdfast different addresses, or stop one of the two',
      },
    ]
  }
  if (name === 'calico-node') {
    const found = `${named(process)} runs here: its autodetection of the node's address (first-found) may choose a virtual one`
    const advice = 'Set IP_AUTODETECTION_METHOD to kubernetes-internal-ip or to a CIDR without the virtual addresses'
    return [{ check: 'processes', level: 'note', found, advice }]
  }
  return []
}

function unseen({ unseenVrrpSockets: unseen }: MachineState): readonly Finding[] {
  if (unseen === 0) return []
  const found = `${unseen} sockets for VRRP belong to processes that cannot be seen from here`
  return [{ check: 'processes', level: 'note', found, advice: 'Run this command in the PID namespace of the host' }]
}

const nobody = (): Finding => ({
  check: 'processes',
  level: 'ok',
  found: 'no VRRP daemon runs in this network namespace',
})
