/**
 * Which capabilities this process lacks, by name, and what to do about it: the daemon needs NET_ADMIN and NET_RAW and
 * nothing else. Refuses to know where it runs: the kernel's words are the same in a container, a pod and a service.
 */
import { readFileSync } from 'node:fs'

const NEEDED = { CAP_NET_ADMIN: 12n, CAP_NET_RAW: 13n } as const

/** From the effective set in /proc/self/status; empty when it cannot be read (then the syscalls will say). */
export function missingCapabilities(status = readStatus()): string[] {
  return without(bitsOf('CapEff', status) ?? ~0n)
}

/** A sentence for whoever cannot start; undefined when nothing is missing. */
export function capabilityProblem(status = readStatus()): string | undefined {
  const missing = missingCapabilities(status)
  return missing.length === 0 ? undefined : `Cannot run without ${missing.join(' and ')}: ${remedy(status)}`
}

/** Why, as far as the kernel tells. Root has what its bounding set has; others have it by the guardian's file, or not at all. */
function remedy(status: string): string {
  const user = /^Uid:\s*\d+\s+(\d+)/m.exec(status)?.[1]
  const withheld = without(bitsOf('CapBnd', status) ?? ~0n)
  if (withheld.length > 0) return `add ${withheld.join(' and ')} to what this container or service may have (cap_add)`
  if (user === '0') return 'give the process these capabilities'
  if (/^NoNewPrivs:\s*1$/m.test(status))
    return (
      `no-new-privileges (allowPrivilegeEscalation: false) keeps user ${user} from the capabilities of the guardian's ` +
      'file; run it as root, which needs no more than these two, or without no-new-privileges'
    )
  return 'give the process these capabilities or run it as root'
}

function without(capabilities: bigint): string[] {
  return Object.entries(NEEDED).flatMap(([name, bit]) => ((capabilities >> bit) & 1n ? [] : [name]))
}

function bitsOf(set: string, status: string): bigint | undefined {
  const found = new RegExp(`^${set}:\\s*([0-9a-f]+)$`, 'm').exec(status)?.[1]
  return found === undefined ? undefined : BigInt(`0x${found}`)
}

function readStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'utf8')
  } catch {
    return ''
  }
}
