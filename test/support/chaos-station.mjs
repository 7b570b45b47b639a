/**
 * Sends VRRP packets from a fourth station that is no router of the group. The station floods the LAN with malformed
 * advertisements and garbage, or forges advertisements that are correct in every field. The program is plain
 * JavaScript, because it runs as a process of its own in a network namespace. The station shares no code with the
 * product except the addon that sends the packets.
 *
 * argv: flood VRID VIP MS
 * forge VRID VIP MS PRIORITY SOURCE. The program ends by itself after MS milliseconds.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [mode, vridText, vip, msText, priorityText = '254', sourceText = '10.77.0.66'] = process.argv.slice(2)
const GROUP = [224, 0, 0, 18]
/** Number of packets that a flood sends in each millisecond. */
const PACKETS = 5
/** Milliseconds between two forged advertisements, as between the advertisements of a real Active. */
const EVERY = 100
/**
 * Milliseconds between two forged advertisements with priority 0 in the Active's name. A forged priority 0 has no
 * effect if the Active advertises within Skew_Time after it. At the Active's own interval, this would be so for every
 * packet or for none. The interval of forged packets differs, so that every phase occurs. The interval of forged
 * packets is longer than the Active's, because the Active answers a competing Active no more often. A Backup would
 * otherwise be Active beside it for 48 ms.
 */
const EVERY_ZERO = 123
const CENTISECONDS = 10
const octets = (text) => text.split('.').map(Number)
const native = createRequire(import.meta.url)('node-gyp-build')(join(import.meta.dirname, '..', '..', 'native'))

function checksum(bytes) {
  let sum = 0
  for (let i = 0; i < bytes.length; i += 2) sum += (bytes[i] << 8) | (bytes[i + 1] ?? 0)
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  return ~sum & 0xffff
}

function advertisement(source, priority, vrid = Number(vridText)) {
  const bytes = [0x31, vrid, priority, 1, 0, CENTISECONDS, 0, 0, ...octets(vip)]
  const sum = checksum([...source, ...GROUP, 0, 112, 0, bytes.length, ...bytes])
  bytes[6] = sum >> 8
  bytes[7] = sum & 255
  return bytes
}

function frame(source, payload, ttl = 255) {
  const length = 20 + payload.length
  const header = [0x45, 0xc0, length >> 8, length & 255, 0, 0, 0x40, 0, ttl, 112, 0, 0, ...source, ...GROUP]
  const sum = checksum(header)
  header[10] = sum >> 8
  header[11] = sum & 255
  return Uint8Array.from([0x01, 0, 0x5e, 0, 0, 0x12, 0x02, 0, 0, 0, 0x66, 0x66, 0x08, 0, ...header, ...payload])
}

const socket = new native.NativeSocket(17, 3, 0, 1, 1)
const address = new Uint8Array(20)
const view = new DataView(address.buffer)
view.setUint16(0, 17, true)
view.setUint16(2, 0x0800)
view.setInt32(4, Number(readFileSync('/sys/class/net/eth0/ifindex', 'utf8')), true)
socket.bind(address)

const source = octets(sourceText)
if (mode === 'forge') {
  const packet = frame(source, advertisement(source, Number(priorityText)))
  socket.send([packet])
  setInterval(() => socket.send([packet]), Number(priorityText) === 0 ? EVERY_ZERO : EVERY)
} else {
  const flood = [
    frame(source, advertisement(source, 254), 64),
    frame(source, advertisement(source, 254, Number(vridText) + 1)),
    frame(source, advertisement(source, 254).slice(0, 7)),
    frame(source, [...advertisement(source, 254).slice(0, 6), 0xde, 0xad, ...octets(vip)]),
    frame(
      source,
      [0x37, 0xff, ...Array(300).keys()].map((n) => n & 255),
    ),
  ]
  setInterval(() => socket.send(Array.from({ length: PACKETS }, (_, i) => flood[i % flood.length])), 1)
}
setTimeout(() => process.exit(0), Number(msText))
