/**
 * Finds a requirement of the demo that the machine does not meet: a capability, a tool, or a kernel feature. The demo
 * tries each requirement, because a version number says too little.
 */

import { readFileSync } from 'node:fs'
import { messageOf } from '../../base/message-of.ts'
import { run } from '../../lab/command.ts'
import { probePath } from '../../lab/installation.ts'
import { namespacesStarting, removeNamespaces } from '../../lab/leftovers.ts'

/** Bit numbers of capabilities in the effective set: for namespaces, for links and addresses, and for raw sockets. */
const CAPABILITIES = { CAP_SYS_ADMIN: 21n, CAP_NET_ADMIN: 12n, CAP_NET_RAW: 13n } as const

function missingCapabilities(): string[] {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? ''
  const set = BigInt(`0x${effective || '0'}`)
  return Object.entries(CAPABILITIES).flatMap(([name, bit]) => ((set >> bit) & 1n ? [] : [name]))
}

function errorOf(attempt: () => unknown): string | undefined {
  try {
    attempt()
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/**
 * Returns the first missing requirement as one line, `undefined` if the demo can run. `prefix` begins the name of a
 * trial namespace.
 */
export function missingRequirement(prefix: string): string | undefined {
  const capabilities = missingCapabilities()
  if (capabilities.length > 0)
    return `Cannot make network namespaces without ${capabilities.join(' and ')}: run it as root`
  if (errorOf(() => run(['ip', '-Version'])) !== undefined) return 'Cannot find "ip": install the package iproute2'
  const probe = errorOf(probePath)
  if (probe !== undefined) return probe

  const name = `${prefix}-try`
  try {
    const steps = [
      ['network namespaces (CONFIG_NET_NS)', ['ip', 'netns', 'add', name]],
      ['bridges (CONFIG_BRIDGE)', ['ip', '-n', name, 'link', 'add', 'br0', 'type', 'bridge']],
      ['veth pairs (CONFIG_VETH)', ['ip', '-n', name, 'link', 'add', 'one', 'type', 'veth', 'peer', 'name', 'two']],
      ['processes in a network namespace', ['ip', 'netns', 'exec', name, 'true']],
    ] as const
    for (const [feature, argv] of steps) {
      const error = errorOf(() => run(argv))
      if (error !== undefined) return `Cannot use ${feature} here: ${error}`
    }
    return undefined
  } finally {
    removeNamespaces(namespacesStarting(name))
  }
}
