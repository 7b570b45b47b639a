/**
 * Reads the state of the machine from /proc, /sys and the kernel, for `holdfast doctor`. This file decides where each
 * value is read. A value that cannot be read is undefined, never guessed. This file judges no value.
 */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { basename } from 'node:path'
import { missingCapabilities } from '../../app/machine/capability.ts'
import { defined } from '../../base/defined.ts'
import { leaseText } from '../../daemon/guard/lease.ts'
import { networkdState, networkManagerState } from '../../doctor/manager-state.ts'
import type { LanManager, LanSettings, MachineState, NeighbourProcess } from '../../doctor/measurement.ts'
import type { NativeAddon } from '../../linux/native.ts'
import { hasOwnFilter, schedulingOf } from '../../linux/process/scheduling.ts'
import { vrrpSocketHolders } from '../../linux/process/vrrp-socket-holder.ts'
import { RECEIVE_BUFFER } from '../../linux/sockets/raw-socket.ts'
import type { RunningDaemon } from './doctor-daemon.ts'

const CAP_SYS_NICE = 23n
/** Process names in /proc/PID/comm, which the kernel cuts after 15 octets. */
const MANAGERS = { networkManager: 'NetworkManager', networkd: 'systemd-network' } as const
const OTHERS = ['calico-node', 'kube-vip']
const GUARDIAN = 'holdfast-guardian'

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

function numberOf(path: string): number | undefined {
  const text = textOf(path)?.trim()
  return text === undefined || !/^-?\d+$/.test(text) ? undefined : Number(text)
}

export function mayRealtime(): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(textOf('/proc/self/status') ?? '')?.[1] ?? '0'
  const limit = /^Max realtime priority\s+(\S+)/m.exec(textOf('/proc/self/limits') ?? '')?.[1] ?? '0'
  return ((BigInt(`0x${effective}`) >> CAP_SYS_NICE) & 1n) === 1n || limit === 'unlimited' || Number(limit) > 0
}

/** Counters of the kernel, which are read before and after the measurement. */
export type Meter = {
  readonly stolen: number
  readonly total: number
  readonly throttled?: number
  readonly waited?: number
}

export function readMeter(): Meter {
  const fields = (textOf('/proc/stat')?.split('\n', 1)[0] ?? '').split(/\s+/).slice(1).map(Number)
  // Fields of /proc/stat: user nice system idle iowait irq softirq steal. The two fields after these (guest,
  // guest_nice) are included in user and nice.
  const total = fields.slice(0, 8).reduce((sum, value) => sum + value, 0)
  const waited = /^some .*total=(\d+)/m.exec(textOf('/proc/pressure/cpu') ?? '')?.[1]
  const throttled = throttledTimes()
  return {
    stolen: fields[7] ?? 0,
    total,
    ...(waited === undefined ? {} : { waited: Number(waited) / 1000 }),
    ...defined({ throttled }),
  }
}

/** Returns how often the CPU limit stopped this cgroup and its parents, because any of them may have the limit. */
function throttledTimes(): number | undefined {
  const path = /^0::(\/.*)$/m.exec(textOf('/proc/self/cgroup') ?? '')?.[1]
  if (path === undefined) return undefined
  const parts = path.split('/').filter(Boolean)
  const folders = parts.map((_, i) => `/${parts.slice(0, i + 1).join('/')}`)
  const found = ['', ...folders].flatMap((folder) => {
    const times = /^nr_throttled (\d+)$/m.exec(textOf(`/sys/fs/cgroup${folder}/cpu.stat`) ?? '')?.[1]
    return times === undefined ? [] : [Number(times)]
  })
  return found.length === 0 ? undefined : found.reduce((sum, times) => sum + times, 0)
}

type Run = { readonly before: Meter; readonly after: Meter; readonly durationMs: number }

export function machineState(native: NativeAddon, daemon: RunningDaemon | undefined, run: Run): MachineState {
  const { after, before, durationMs } = run
  const total = after.total - before.total
  const namespaces = ['time', 'time_for_children'].map((name) => linkOf(`/proc/self/ns/${name}`))
  const offset = /^monotonic\s+(-?\d+)\s+(\d+)$/m.exec(textOf('/proc/self/timens_offsets') ?? '')
  const { processes, unseen } = neighbours()
  const forward = numberOf('/proc/sys/net/ipv4/ip_forward')
  return {
    kernel: release(),
    processors: cpus().length,
    missingCapabilities: missingCapabilities(daemon?.status),
    daemon: daemon?.pid,
    user: process.geteuid?.() ?? 0,
    mayRealtime: mayRealtime(),
    receiveBufferLimit: numberOf('/proc/sys/net/core/rmem_max'),
    receiveBufferWanted: RECEIVE_BUFFER,
    clockSource: textOf('/sys/devices/system/clocksource/clocksource0/current_clocksource')?.trim(),
    stolenShare: total > 0 ? (after.stolen - before.stolen) / total : undefined,
    throttled: difference(before.throttled, after.throttled),
    pressureMs: difference(before.waited, after.waited),
    durationMs,
    monotonicOffset: offset === null ? 0 : Number(offset[1]) * 1e9 + Number(offset[2]),
    timeNamespaceChanges: namespaces[0] !== undefined && namespaces[0] !== namespaces[1],
    missingFeatures: missingFeatures(native),
    guardianConfined: daemon && guardianConfined(daemon),
    lease: daemon?.lease && leaseText(daemon.lease),
    ipForward: forward === undefined ? undefined : forward !== 0,
    processes,
    unseenVrrpSockets: unseen,
  }
}

/** Returns whether the parent of the engine has a seccomp filter; `undefined` if the parent is no guardian. */
function guardianConfined({ status }: RunningDaemon): boolean | undefined {
  const parent = Number(/^PPid:\s*(\d+)$/m.exec(status)?.[1])
  return textOf(`/proc/${parent}/cmdline`)?.includes(GUARDIAN) === true ? hasOwnFilter(parent) : undefined
}

const difference = (before: number | undefined, after: number | undefined): number | undefined =>
  before === undefined || after === undefined ? undefined : after - before

/** Returns missing kernel features. The doctor tries each feature, because a version number says too little. */
function missingFeatures(native: NativeAddon): readonly string[] {
  try {
    new native.ProcessEnd(process.pid).close()
    return []
  } catch {
    return ['pidfd_open(2), by which the guardian notices the end of the engine']
  }
}

function neighbours(): { readonly processes: readonly NeighbourProcess[]; readonly unseen: number } {
  const { closed, holders, unseen } = vrrpSocketHolders([process.pid])
  const guardians = new Set(holders.filter(({ name }) => name === GUARDIAN).map(({ pid }) => pid))
  const locked = /@holdfast$/m.test(textOf('/proc/self/net/unix') ?? '')
  const speaking = [...holders, ...closed].map(({ name, pid }): NeighbourProcess => {
    const parent = Number(/^PPid:\s*(\d+)$/m.exec(textOf(`/proc/${pid}/status`) ?? '')?.[1])
    const engine = guardians.has(parent) || (locked && basename(linkOf(`/proc/${pid}/exe`) ?? '') === 'node')
    const { policy } = schedulingOf(pid) ?? {}
    return { pid, name: engine ? 'holdfast' : name, vrrp: true, ...defined({ policy }) }
  })
  const known = new Set(speaking.map(({ pid }) => pid))
  const others = here(OTHERS).filter(({ pid }) => !known.has(pid))
  return { processes: [...speaking, ...others.map((other) => ({ ...other, vrrp: false }))], unseen }
}

/**
 * Returns processes with one of these names in this network namespace. A process whose namespace cannot be read is
 * included.
 */
function here(names: readonly string[]): readonly { readonly pid: number; readonly name: string }[] {
  const ours = linkOf('/proc/self/ns/net')
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return []
    const name = textOf(`/proc/${entry}/comm`)?.trim()
    if (name === undefined || !names.includes(name)) return []
    const theirs = linkOf(`/proc/${entry}/ns/net`)
    return theirs === undefined || theirs === ours ? [{ pid: Number(entry), name }] : []
  })
}

/**
 * Returns the kernel settings of an interface. Of the values for `all` and for the interface, the larger counts
 * (Documentation/networking/ip-sysctl.rst).
 */
export function lanSettings(name: string): LanSettings {
  const conf = '/proc/sys/net/ipv4/conf'
  const larger = (key: string): number | undefined => {
    const found = [numberOf(`${conf}/all/${key}`), numberOf(`${conf}/${name}/${key}`)].flatMap((value) => value ?? [])
    return found.length === 0 ? undefined : Math.max(...found)
  }
  return {
    rpFilter: larger('rp_filter'),
    arpIgnore: larger('arp_ignore'),
    arpFilter: larger('arp_filter'),
    disableIpv6: numberOf(`/proc/sys/net/ipv6/conf/${name}/disable_ipv6`),
  }
}

/**
 * Returns which network managers manage the interface, read from their state files. Only managers in this network
 * namespace count.
 */
export function lanManager(index: number): LanManager {
  const networkManager = here([MANAGERS.networkManager]).length > 0
  const networkd = here([MANAGERS.networkd]).length > 0
  return {
    networkManager: networkManager ? networkManagerState(textOf(`/run/NetworkManager/devices/${index}`)) : undefined,
    networkd: networkd ? networkdState(textOf(`/run/systemd/netif/links/${index}`)) : undefined,
  }
}

export const routesText = (): string => textOf('/proc/self/net/route') ?? ''
