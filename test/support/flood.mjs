/**
 * Sends the requested number of packets on which no VRRP router may act. The program is plain JavaScript, because it
 * runs as a process of its own in a network namespace. The flood program builds its frames itself, so that they can be
 * wrong in every way that a wire allows. The flood program shares no code with the product except the addon that sends
 * the frames. The flood program prints one JSON line at the end.
 *
 * argv: INTERFACE VRID VIP COUNT PER_SECOND. COUNT 0 means until SIGTERM.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [link, vridText, vip, countText, rateText] = process.argv.slice(2)
const vrid = Number(vridText)
const count = Number(countText) || Number.POSITIVE_INFINITY
const perMillisecond = Number(rateText) / 1000
const BATCH = 64
const GROUP = [224, 0, 0, 18]
const root = join(import.meta.dirname, '..', '..')
const native = createRequire(import.meta.url)('node-gyp-build')(join(root, 'native'))

// The random numbers (xorshift32) have a fixed seed, so that a failure can be repeated.
let seed = 0x9568
function random(below) {
  seed ^= seed << 13
  seed ^= seed >>> 17
  seed ^= seed << 5
  return (seed >>> 0) % below
}
const randomBytes = (length) => Array.from({ length }, () => random(256))

function internetChecksum(bytes) {
  let sum = 0
  for (let i = 0; i < bytes.length; i += 2) sum += (bytes[i] << 8) | (bytes[i + 1] ?? 0)
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  return ~sum & 0xffff
}

/**
 * Builds a VRRPv3 message. The message is well formed except for the given changes, and its checksum is right unless
 * `checksum` is given.
 */
function message(
  source,
  { version = 3, type = 1, id = vrid, priority = 254, addresses = 1, interval = 10, checksum, tail = [] },
) {
  const octets = vip.split('.').map(Number)
  const list = Array.from({ length: addresses }, () => octets).flat()
  const bytes = [(version << 4) | type, id, priority, addresses, interval >> 8, interval & 255, 0, 0, ...list, ...tail]
  const pseudo = [...source, ...GROUP, 0, 112, bytes.length >> 8, bytes.length & 255]
  const sum = checksum ?? internetChecksum([...pseudo, ...bytes])
  bytes[6] = sum >> 8
  bytes[7] = sum & 255
  return bytes
}

const KINDS = {
  garbage: (source) => ({ payload: randomBytes(1 + random(400)), source }),
  truncated: (source) => ({ payload: message(source, {}).slice(0, random(12)), source }),
  oversized: (source) => ({ payload: message(source, { tail: randomBytes(1_000 + random(400)) }), source }),
  ttl: (source) => ({ payload: message(source, {}), source, ttl: 64 }),
  checksum: (source) => ({ payload: message(source, { checksum: 0xdead }), source }),
  version: (source) => ({ payload: message(source, { version: 2 }), source }),
  type: (source) => ({ payload: message(source, { type: 7 }), source }),
  vrid: (source) => ({ payload: message(source, { id: vrid === 255 ? 1 : vrid + 1 }), source }),
  noAddress: (source) => ({ payload: message(source, { addresses: 0 }), source }),
  noInterval: (source) => ({ payload: message(source, { interval: 0 }), source }),
}

function frame({ payload, source, ttl = 255 }) {
  const length = 20 + payload.length
  const header = [0x45, 0xc0, length >> 8, length & 255, 0, 0, 0x40, 0, ttl, 112, 0, 0, ...source, ...GROUP]
  const sum = internetChecksum(header)
  header[10] = sum >> 8
  header[11] = sum & 255
  return Uint8Array.from([0x01, 0, 0x5e, 0, 0, 0x12, 0x02, 0, 0, 0, 0, source[3], 0x08, 0, ...header, ...payload])
}

// The frames are built once and sent repeatedly, because the flood has to be faster than its receiver.
const makers = Object.values(KINDS)
const frames = Array.from({ length: 100 * makers.length }, (_, i) =>
  frame(makers[i % makers.length]([10, 77, 0, 150 + random(100)])),
)

const socket = new native.NativeSocket(17, 3, 0, 1, 1)
const address = new Uint8Array(20)
const view = new DataView(address.buffer)
view.setUint16(0, 17, true)
view.setUint16(2, 0x0800)
view.setInt32(4, Number(readFileSync(`/sys/class/net/${link}/ifindex`, 'utf8')), true)
socket.bind(address)

let sent = 0
let failed = 0
const startedAt = performance.now()
function finish() {
  process.stdout.write(`${JSON.stringify({ sent, failed, ms: Math.round(performance.now() - startedAt) })}\n`)
  process.exit(0)
}
process.on('SIGTERM', finish)
function pump() {
  const due = Math.min(count, (performance.now() - startedAt) * perMillisecond)
  while (sent + failed < due) {
    const at = (sent + failed) % frames.length
    const batch = frames.slice(at, at + Math.min(BATCH, count - sent - failed))
    // If send() returns no results, the kernel took every frame as a whole (ADR 0040).
    for (const result of socket.send(batch) ?? batch.map(({ length }) => length)) {
      if (result > 0) sent++
      else failed++
    }
  }
  if (sent + failed >= count) finish()
  setTimeout(pump, 1)
}
pump()
