/**
 * Encodes a cleanup plan: the bytes from which the guardian removes the addresses without the engine. Pure. The format
 * is described in native/guardian/message.h (native byte order, little endian on x64 and arm64). The guardian knows
 * neither VRRP nor rtnetlink, so a plan has complete packets and requests. Other files decide the socketpair, and when
 * a plan is due.
 */
import type { CleanupPlan, PlanGuard } from '../../daemon/ports.ts'
import { addressBytes } from '../../wire/address.ts'
import { removeAddressRequest, renewAddressRequest } from '../netlink/message.ts'

/** Largest message that the guardian accepts, in octets. 255 IPv6 addresses to 254 unicast peers need 1.1 MB. */
export const LARGEST_MESSAGE = 2 << 20

const FORMAT = 1
const ARM = 1
const WITHDRAW = 2
const GUARD = 3
const LOOK = 4
const MANAGER = 5
const READY = 6
const LOG = 7
/** Numbers of the log formats in native/guardian/message.h. */
const LOG_FORMATS = { json: 1, text: 2, journald: 3 } as const
export type GuardianLogFormat = keyof typeof LOG_FORMATS
const HEADER = 12
const GUARD_HEADER = 28
const PACKET = 44

const align = (length: number): number => (length + 3) & ~3
const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer)

function header(bytes: Uint8Array, kind: number, unit: number, requests: number, packets: number): Uint8Array {
  if (!Number.isInteger(unit) || unit < 0 || unit > 0xffff)
    throw new RangeError(`unit ${unit}: an integer from 0 to 65535`)
  bytes.set([FORMAT, kind])
  view(bytes).setUint16(2, unit, true)
  view(bytes).setUint32(4, requests, true)
  view(bytes).setUint32(8, packets, true)
  return bytes
}

export const withdrawMessage = (unit: number): Uint8Array => header(new Uint8Array(HEADER), WITHDRAW, unit, 0, 0)

/** Returns the message that a deadline is now nearer than the deadline for which the guardian may be waiting. */
export const lookMessage = (unit: number): Uint8Array => header(new Uint8Array(HEADER), LOOK, unit, 0, 0)

/**
 * Returns the message that the engine's signal handlers are in place. After this message the guardian forwards every
 * signal to the engine, and reports to systemd that the daemon has started.
 */
export const readyMessage = (): Uint8Array => header(new Uint8Array(HEADER), READY, 0, 0, 0)

/**
 * Returns the message that sets the format of the guardian's log lines. `undefined`: the format that fits its standard
 * error.
 */
export const logMessage = (format: GuardianLogFormat | undefined): Uint8Array =>
  header(new Uint8Array(HEADER), LOG, format === undefined ? 0 : LOG_FORMATS[format], 0, 0)

/**
 * Returns the message with text for the service manager (sd_notify(3)), at most 4 KiB. The guardian passes the text on
 * unchanged.
 */
export function managerMessage(text: string): Uint8Array {
  const encoded = new TextEncoder().encode(text)
  const message = header(new Uint8Array(HEADER + encoded.length), MANAGER, 0, 0, 0)
  message.set(encoded, HEADER)
  return message
}

/** Returns the milliseconds between two renewals of an address; 0 means that one renewal is enough. */
function periodOf(renew: PlanGuard['renew']): number {
  const lifetimes = renew.flatMap(({ lifetime }) => lifetime ?? [])
  return lifetimes.length === 0 ? 0 : Math.floor((Math.min(...lifetimes) * 1000) / 3)
}

function guardHeader(bytes: Uint8Array, { renew, grace }: PlanGuard, generation: number): void {
  const out = view(bytes)
  out.setUint32(12, renew.length, true)
  out.setUint32(16, periodOf(renew), true)
  out.setUint32(20, generation, true)
  out.setUint32(24, Math.ceil(grace), true)
}

/**
 * Encodes a cleanup plan. Sequence numbers stay 0, because the guardian sets its own. `generation` is the generation of
 * the shared word for this plan. 0 means no word, and therefore no deadline and no renewal.
 */
export function armMessage(plan: CleanupPlan, generation = 0): Uint8Array {
  const guard = generation === 0 ? undefined : plan.guard
  const start = guard === undefined ? HEADER : GUARD_HEADER
  const renewals = guard?.renew ?? []
  const requests = [
    ...plan.remove.map((wanted) => removeAddressRequest(wanted, 0)),
    ...renewals.map(({ lifetime, ...wanted }) => renewAddressRequest(wanted, 0, lifetime)),
  ]
  const packets = plan.packets.flatMap((group) => group.datagrams.map((datagram) => ({ ...group, ...datagram })))
  const size =
    requests.reduce((sum, bytes) => sum + 4 + align(bytes.length), start) +
    packets.reduce((sum, { bytes }) => sum + PACKET + align(bytes.length), 0)
  const kind = guard === undefined ? ARM : GUARD
  const message = header(new Uint8Array(size), kind, plan.unit, plan.remove.length, packets.length)
  if (guard !== undefined) guardHeader(message, guard, generation)
  const out = view(message)
  let at = start
  for (const bytes of requests) {
    out.setUint32(at, bytes.length, true)
    message.set(bytes, at + 4)
    at += 4 + align(bytes.length)
  }
  for (const { family, interfaceIndex, source, destination, bytes, ttl = 0 } of packets) {
    message[at] = family === 'ipv4' ? 4 : 6
    message[at + 1] = ttl
    out.setUint32(at + 4, interfaceIndex, true)
    message.set(addressBytes(source), at + 8)
    message.set(addressBytes(destination), at + 24)
    out.setUint32(at + 40, bytes.length, true)
    message.set(bytes, at + PACKET)
    at += PACKET + align(bytes.length)
  }
  return message
}
