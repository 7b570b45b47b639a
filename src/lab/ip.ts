/** Runs iproute2 and nftables in one network namespace of a lab. `where` is a host, or the name of a namespace. */
import { run } from './command.ts'

export type Where = string | { readonly namespace: string }

export const namespaceOf = (where: Where): string => (typeof where === 'string' ? where : where.namespace)

/**
 * Runs the commands of `ip` in one process and returns what `ip` prints. The commands are written as in a shell:
 * `ip(host, 'link set eth0 down')`. Throws with the first error message of `ip`; the commands after the failed one are
 * then not run.
 */
export function ip(where: Where, ...commands: readonly string[]): string {
  const there = ['ip', '-n', namespaceOf(where)]
  const [command, ...others] = commands
  if (command === undefined) return ''
  if (others.length === 0) return run([...there, ...command.split(' ').filter(Boolean)])
  return run([...there, '-batch', '-'], commands.map((line) => `${line}\n`).join(''))
}

/** An address as `ip -json address show` prints it. A flag such as `deprecated` is a field only while it is set. */
export type ShownAddress = {
  readonly family: string
  readonly local: string
  readonly prefixlen: number
  readonly valid_life_time: number
  readonly [field: string]: unknown
}

/** A network interface as `ip -json address show` prints it. */
export type ShownLink = {
  readonly ifname: string
  readonly ifindex: number
  readonly address: string
  readonly flags: readonly string[]
  /** Interface index of the other end of a veth cable; absent for another kind of interface. */
  readonly link_index?: number
  readonly addr_info?: readonly ShownAddress[]
}

/** Returns all network interfaces of the namespace, each with its addresses. */
export function linksOf(where: Where): readonly ShownLink[] {
  return JSON.parse(ip(where, '-json address show'))
}

export function linkOf(where: Where, name = 'eth0'): ShownLink {
  const [link]: readonly ShownLink[] = JSON.parse(ip(where, `-json address show dev ${name}`))
  if (link === undefined) throw new Error(`Cannot find "${name}" in ${namespaceOf(where)}`)
  return link
}

export const macOf = (where: Where, link?: string): string => linkOf(where, link).address

/** Returns the IPv4 and IPv6 addresses of the interface `link`; without `link`, those of all interfaces. */
export const shownAddresses = (where: Where, link?: string): readonly ShownAddress[] =>
  linkOf(where, link).addr_info ?? []

/** Returns the addresses of the interface `link` as `address/length`; without `link`, those of all interfaces. */
export const addressesOf = (where: Where, link?: string): string[] =>
  shownAddresses(where, link).map(({ local, prefixlen }) => `${local}/${prefixlen}`)

/** Runs a program in the namespace and returns its standard output. */
export function inside(where: Where, argv: readonly string[], input?: string): string {
  return run(['ip', 'netns', 'exec', namespaceOf(where), ...argv], input)
}

/** Loads rules into the packet filter of the namespace. `rules` is the text that `nft -f` reads. */
export function nft(where: Where, rules: string): string {
  return inside(where, ['nft', '-f', '-'], rules)
}
