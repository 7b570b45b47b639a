/**
 * The node apart from its networks: privileges, kernel, processor, and who else runs here. PURE. Refuses to know how it was
 * looked at, and timers.
 */
import type { Finding } from './finding.ts'
import type { MachineState, Measured, NeighbourProcess } from './measurement.ts'

const mebi = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(bytes < 10 * 1024 * 1024 ? 2 : 0)} MiB`
/** A default buffer of 208 KiB holds 256 advertisements (ground rule 2). */
const OCTETS_PER_ADVERTISEMENT = 832

export function machineFindings({ machine, routers }: Measured): readonly Finding[] {
  return [
    capabilities(machine),
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

/** A daemon that runs is judged itself: the user of this command may have fewer capabilities. */
function capabilities({ daemon, missingCapabilities: missing, user }: MachineState): Finding {
  const who = daemon === undefined ? `user ${user} of this command` : `the running daemon (pid ${daemon})`
  if (missing.length === 0)
    return { check: 'capabilities', level: 'ok', found: `${who} has CAP_NET_ADMIN and CAP_NET_RAW` }
  const lacks = `${who} lacks ${missing.join(' and ')}`
  const found = daemon === undefined ? `${lacks}: a daemon started by this user does not start` : lacks
  return { check: 'capabilities', level: 'error', found, advice: 'Run it as root, or give them (docs/privileges.md)' }
}

function kernel({ clockSource, kernel: release, missingFeatures, processors }: MachineState): Finding {
  const about = `Linux ${release}, ${processors} CPUs${clockSource === undefined ? '' : `, clock source ${clockSource}`}`
  if (missingFeatures.length > 0) {
    return {
      check: 'kernel',
      level: 'error',
      found: `${about}: without ${missingFeatures.join(', ')}`,
      advice: 'Linux 5.4 or newer is needed',
    }
  }
  if (clockSource === 'acpi_pm' || clockSource === 'hpet' || clockSource === 'jiffies') {
    return {
      check: 'kernel',
      level: 'note',
      found: `${about}: reading it is slow, or coarse`,
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
      found: `the CPU limit of this cgroup stopped its processes ${throttled === 1 ? 'once' : `${throttled} times`} during the measurement: real-time priority does not help against that`,
      advice: 'Set no CPU limit for the daemon (resources.limits.cpu, CPUQuota=)',
    })
  }
  if (stolenShare !== undefined && stolenShare > 0.01) {
    findings.push({
      check: 'processor',
      level: stolenShare > 0.1 ? 'warning' : 'note',
      found: `the hypervisor gave ${(100 * stolenShare).toFixed(1)} % of the processor time to others`,
      advice: 'Reserve CPUs for this machine',
    })
  }
  if (pressureMs !== undefined && pressureMs > durationMs / 2) {
    findings.push({
      check: 'processor',
      level: 'note',
      found: `for ${((100 * pressureMs) / durationMs).toFixed(0)} % of the time somebody waited for a processor: what was measured is that of a busy machine`,
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
    const found = `${mebi(wanted)} for what is received${forced ? ' (past net.core.rmem_max, with CAP_NET_ADMIN)' : ''}`
    return { check: 'receive-buffer', level: 'ok', found }
  }
  const got = limit ?? 0
  return {
    check: 'receive-buffer',
    level: 'warning',
    found: `net.core.rmem_max allows ${mebi(got)} of ${mebi(wanted)}: about ${Math.floor(got / OCTETS_PER_ADVERTISEMENT)} advertisements, and a full queue drops the newest`,
    advice: `Give CAP_NET_ADMIN, or set net.core.rmem_max=${wanted}`,
  }
}

function timeNamespace({ monotonicOffset, timeNamespaceChanges }: MachineState): readonly Finding[] {
  if (timeNamespaceChanges) {
    return [
      {
        check: 'time-namespace',
        level: 'error',
        found:
          'children of this process get another time namespace: guardian and engine would not agree on CLOCK_MONOTONIC, and the guardian takes addresses off by it',
        advice: 'Enter the time namespace before the daemon is started, not with it',
      },
    ]
  }
  if (monotonicOffset === 0) return []
  const found = `CLOCK_MONOTONIC is shifted by ${(monotonicOffset / 1e9).toFixed(3)} s here: guardian and engine share it, which is enough`
  return [{ check: 'time-namespace', level: 'note', found }]
}

/** Measured both ways (docs/performance.md): it hides stale neighbour entries, and it is what a Kubernetes node has. */
function forwarding({ ipForward }: MachineState): readonly Finding[] {
  if (ipForward === undefined) return []
  const found = ipForward
    ? 'net.ipv4.ip_forward is 1: what a client sends to a node that no longer has the address is passed on to the one that has'
    : 'net.ipv4.ip_forward is 0: a client with a stale neighbour entry gets no answer until it has heard of the new owner'
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
        found: `${named(process)} speaks VRRP in this network namespace${both ? ' beside holdfast: both install the same addresses, and each takes the other’s away' : ': holdfast refuses to start beside it'}`,
        advice: both ? 'Stop one of them' : 'Stop it before holdfast starts (systemctl disable --now keepalived)',
      },
    ]
  }
  if (vrrp) {
    const found = `${named(process)} has a socket for VRRP in this network namespace`
    return [{ check: 'processes', level: 'warning', found, advice: 'See to it that it uses other VRIDs and addresses' }]
  }
  if (name === 'kube-vip') {
    const found = `${named(process)} runs here: it holds virtual addresses by ARP, without VRRP`
    return [{ check: 'processes', level: 'warning', found, advice: 'Give it other addresses, or stop one of the two' }]
  }
  if (name === 'calico-node') {
    const found = `${named(process)} runs here: where it looks for the node's own address (first-found) it may take a virtual one`
    const advice = 'Set IP_AUTODETECTION_METHOD to kubernetes-internal-ip or a cidr without the virtual addresses'
    return [{ check: 'processes', level: 'note', found, advice }]
  }
  return []
}

function unseen({ unseenVrrpSockets: unseen }: MachineState): readonly Finding[] {
  if (unseen === 0) return []
  const found = `${unseen} sockets for VRRP belong to processes that cannot be seen from here`
  return [{ check: 'processes', level: 'note', found, advice: 'Run it in the PID namespace of the host' }]
}

const nobody = (): Finding => ({
  check: 'processes',
  level: 'ok',
  found: 'no VRRP daemon runs in this network namespace',
})
