/**
 * Prints a captured frame: one line with columns for people, or one JSON object per line for programs. The packet is
 * judged elsewhere. PURE apart from the local time zone.
 */
import type { Sighting, VrrpSighting } from './capture-decode.ts'

export type Seen = {
  readonly sighting: Sighting
  readonly interfaceName: string /** CLOCK_REALTIME, ms. */
  readonly at: number
}

const micros = (at: number): string => String(Math.floor((at % 1000) * 1000)).padStart(6, '0')
const two = (value: number): string => String(value).padStart(2, '0')

/** Returns the local time of day with microseconds, as tcpdump prints it. */
function clockTime(at: number): string {
  const date = new Date(at)
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${micros(at)}`
}

const isoTime = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, `.${micros(at)}Z`)

export function formatJson({ at, interfaceName, sighting }: Seen): string {
  return JSON.stringify({ at: isoTime(at), interface: interfaceName, ...sighting })
}

type Cells = readonly [time: string, kind: string, from: string, to: string, what: string]

const HEADING: Cells = ['TIME', 'KIND', 'FROM', 'TO', 'WHAT']
/** Smallest widths of the columns, which fit a time, a kind and two MACs. */
const NARROWEST = [15, 7, 17, 17] as const

/**
 * A table whose columns have the width of the longest MAC or address so far. With fixed columns for IPv6, the lines of
 * an IPv4 network would not fit a terminal.
 */
export class CaptureTable {
  readonly #widths: number[] = [...NARROWEST]

  heading(): string {
    return this.#row(HEADING)
  }

  /** Returns the line of a captured frame, after a new heading if a column became wider. */
  lines({ at, sighting }: Seen): readonly string[] {
    const [kind, from, to, what] = columns(sighting)
    const vlan = sighting.vlan === undefined ? '' : ` [VLAN ${sighting.vlan}]`
    const cells: Cells = [clockTime(at), kind, from, to, `${what}${vlan}`]
    const wider = this.#widths.map((width, i) => Math.max(width, cells[i]?.length ?? 0))
    const changed = wider.some((width, i) => width !== this.#widths[i])
    this.#widths.splice(0, wider.length, ...wider)
    return changed ? [this.heading(), this.#row(cells)] : [this.#row(cells)]
  }

  #row(cells: Cells): string {
    return cells
      .map((cell, i) => cell.padEnd(this.#widths[i] ?? 0))
      .join(' ')
      .trimEnd()
  }
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
    case 'ns': {
      const { address, duplicateDetection } = sighting
      const asked = address === undefined ? 'INVALID' : `who has ${address}?`
      return ['NS', sighting.source, sighting.destination, duplicateDetection ? `probe: ${asked}` : asked]
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
    priority === undefined ? undefined : `priority ${priority}${priority === 0 ? ' (releases the VIP)' : ''}`,
    intervalMs === undefined ? undefined : `every ${intervalMs} ms`,
    ttl === 255 ? undefined : `TTL ${ttl}`,
    authentication === undefined || authentication === 'none' ? undefined : `${authentication} authentication`,
  ].filter((part) => part !== undefined)
  const list = addresses === undefined || addresses.length === 0 ? '' : `: ${addresses.join(' ')}`
  const remarks = discard === undefined ? warnings : [`DISCARDED ${discard}`]
  return `${said.join(', ')}${list}${remarks.length === 0 ? '' : `  ! ${remarks.join(', ')}`}`
}
