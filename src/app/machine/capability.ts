/**
 * Finds which capabilities this process lacks, and what to do about it. The daemon needs CAP_NET_ADMIN and CAP_NET_RAW
 * and nothing else. The text is the same in a container, a pod and a service.
 */
import { readFileSync } from 'node:fs'

const NEEDED = { CAP_NET_ADMIN: 12n, CAP_NET_RAW: 13n } as const

/**
 * Returns the names of missing capabilities, by the effective set in /proc/self/status. Empty if that file cannot be
 * read; then a system call will fail.
 */
export function missingCapabilities(status = readStatus()): string[] {
  return without(bitsOf('CapEff', status) ?? ~0n)
}

/** Returns an error text if the process lacks a capability, otherwise `undefined`. */
export function capabilityProblem(status = readStatus()): string | undefined {
  const missing = missingCapabilities(status)
  return missing.length === 0 ? undefined : `Cannot run without ${missing.join(' and ')}: ${remedy(status)}`
}

/**
 * Returns advice about a missing capability, as far as the kernel shows the reason. Root has the capabilities of its
 * bounding set. Other users get them from the guardian's file, or not at all.
 */
function remedy(status: string): string {
  const user = /^Uid:\s*\d+\s+(\d+)/m.exec(status)?.[1]
  const withheld = without(bitsOf('CapBnd', status) ?? ~0n)
  if (withheld.length > 0)
    return `add ${withheld.join(' and ')} to the capabilities of this container or service (cap_add)`
  if (user === '0') return 'give the process these capabilities'
  if (/^NoNewPrivs:\s*1$/m.test(status))
    return (
      `no-new-privileges (allowPrivilegeEscalation: false) prevents user ${user} from getting the capabilities of the guardian's ` +
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
