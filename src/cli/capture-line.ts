/**
 * A sighting as a person reads it at night, one line with columns, and as programs read it, one JSON object a line.
 * Decides the looks; refuses to know what makes a packet good or bad. PURE apart from the local time zone.
 */
import type { Sighting, VrrpSighting } from './capture-decode.ts'

export type Seen = {
  readonly sighting: Sighting
  readonly interfaceName: string /** CLOCK_REALTIME, ms. */
  readonly at: number
}

const micros = (at: number): string => String(Math.floor((at % 1000) * 1000)).padStart(6, '0')
const two = (value: number): string => String(value).padStart(2, '0')

/** Local time of day with microseconds, as tcpdump has it. */
function clockTime(at: number): string {
  const date = new Date(at)
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${micros(at)}`
}

const isoTime = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, `.${micros(at)}Z`)

export function formatJson({ at, interfaceName, sighting }: Seen): string {
  return JSON.stringify({ at: isoTime(at), interface: interfaceName, ...sighting })
}

export const CAPTURE_HEADING = `${'TIME'.padEnd(16)}${'KIND'.padEnd(8)}${'FROM'.padEnd(18)}${'TO'.padEnd(16)}WHAT`

export function formatLine({ at, sighting }: Seen): string {
  const [kind, from, to, what] = columns(sighting)
  const vlan = sighting.vlan === undefined ? '' : ` [VLAN ${sighting.vlan}]`
  const cells = [clockTime(at).padEnd(15), kind.padEnd(7), from.padEnd(17), to.padEnd(15), `${what}${vlan}`]
  return cells.join(' ').trimEnd()
}

function columns(sighting: Sighting): readonly [kind: string, from: string, to: string, what: string] {
  switch (sighting.kind) {
    case 'vrrp':
      return [`VRRPv${sighting.version ?? '?'}`, sighting.source, sighting.destination, vrrp(sighting)]
    case 'arp': {
      const { address, mac, what } = sighting
      const says = what === 'probe' ? `probe: who has ${address}?` : `${what}: ${address} is at ${mac}`
      return ['ARP', sighting.sourceMac, sighting.destinationMac, says]
    }
    case 'na': {
      const { address, mac, override, router, solicited } = sighting
      const flags = [router && 'router', solicited && 'solicited', override && 'override'].filter(
        (flag) => flag !== false,
      )
      const says = address === undefined ? 'INVALID' : `${address} is at ${mac ?? sighting.sourceMac}`
      return ['NA', sighting.source, sighting.destination, `${says} (${flags.join(', ') || 'no flags'})`]
    }
  }
}

function vrrp(sighting: VrrpSighting): string {
  const { addresses, authentication, discard, intervalMs, priority, ttl, vrid, warnings } = sighting
  const said = [
    vrid === undefined ? undefined : `vrid ${vrid}`,
    priority === undefined ? undefined : `priority ${priority}${priority === 0 ? ' (leaves)' : ''}`,
    intervalMs === undefined ? undefined : `every ${intervalMs} ms`,
    ttl === 255 ? undefined : `TTL ${ttl}`,
    authentication === undefined || authentication === 'none' ? undefined : `${authentication} authentication`,
  ].filter((part) => part !== undefined)
  const list = addresses === undefined || addresses.length === 0 ? '' : `: ${addresses.join(' ')}`
  const remarks = discard === undefined ? warnings : [`DISCARDED ${discard}`]
  return `${said.join(', ')}${list}${remarks.length === 0 ? '' : `  ! ${remarks.join(', ')}`}`
}
