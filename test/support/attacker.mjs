/**
 * Sends given Ethernet frames at a given rate, as an attacker with a raw socket does. The program is plain JavaScript,
 * because it runs as a process of its own in a network namespace. The attacker knows no protocol: forged-frame.ts
 * decides what is forged, and how. The attacker shares no code with the product except the addon that sends the frames.
 *
 * argv: INTERFACE. Each line of standard input is a JSON object { id, frames: [hex], count, perSecond }. The frames are
 * sent in turn. Count 0 means until { stop: id } arrives; perSecond 0 means as fast as possible. At the end of each
 * order the program prints { id, sent, failed, ms }.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const [link] = process.argv.slice(2)
const BATCH = 64
const root = join(import.meta.dirname, '..', '..')
const native = createRequire(import.meta.url)('node-gyp-build')(join(root, 'native'))

const AF_PACKET = 17
const socket = new native.NativeSocket(AF_PACKET, 3, 0, 1, 1)
const address = new Uint8Array(20)
const view = new DataView(address.buffer)
view.setUint16(0, AF_PACKET, true)
view.setInt32(4, Number(readFileSync(`/sys/class/net/${link}/ifindex`, 'utf8')), true)
socket.bind(address)

const running = new Set()

function report({ id, sent, failed, startedAt }) {
  process.stdout.write(`${JSON.stringify({ id, sent, failed, ms: Math.round(performance.now() - startedAt) })}\n`)
}

function pump(attack) {
  const { count, frames, perSecond, startedAt } = attack
  const limit = count === 0 ? Number.POSITIVE_INFINITY : count
  // A burst of frames lasts at most 5 ms, so that an order to stop is read in time.
  const until = performance.now() + 5
  const due = () => Math.min(limit, Math.floor(1 + ((performance.now() - startedAt) * perSecond) / 1000))
  while (attack.sent + attack.failed < (perSecond === 0 ? limit : due()) && performance.now() < until) {
    const done = attack.sent + attack.failed
    const at = done % frames.length
    const room = (perSecond === 0 ? limit : due()) - done
    const batch = frames.slice(at, at + Math.min(BATCH, room))
    // If send() returns no results, the kernel took every frame as a whole (ADR 0040).
    const results = socket.send(batch) ?? batch.map(({ length }) => length)
    for (const result of results) {
      if (result > 0) attack.sent++
      else attack.failed++
    }
  }
  if (attack.stopped || attack.sent + attack.failed >= limit) {
    running.delete(attack)
    report(attack)
    return
  }
  if (perSecond === 0 || perSecond > 1_000) setImmediate(pump, attack)
  else setTimeout(pump, 1, attack)
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, frames = [], count = 1, perSecond = 0, stop } = JSON.parse(line)
  if (stop !== undefined) {
    for (const attack of running) if (attack.id === stop) attack.stopped = true
    return
  }
  const octets = frames.map((hex) => Uint8Array.from(Buffer.from(hex, 'hex')))
  const attack = { id, frames: octets, count, perSecond, sent: 0, failed: 0, startedAt: performance.now() }
  running.add(attack)
  pump(attack)
})
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
