/** Which capabilities this process lacks, by name: the daemon needs NET_ADMIN and NET_RAW and nothing else. */
import { readFileSync } from 'node:fs'

const NEEDED = { CAP_NET_ADMIN: 12n, CAP_NET_RAW: 13n } as const

/** From the effective set in /proc/self/status; empty when it cannot be read (then the syscalls will say). */
export function missingCapabilities(status = readStatus()): string[] {
  const found = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1]
  if (found === undefined) return []
  const effective = BigInt(`0x${found}`)
  return Object.entries(NEEDED).flatMap(([name, bit]) => ((effective >> bit) & 1n ? [] : [name]))
}

function readStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'utf8')
  } catch {
    return ''
  }
}
