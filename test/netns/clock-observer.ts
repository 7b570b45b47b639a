/**
 * A neighbour of clock-engine.ts: reports the frames of the engine's slots with the kernel's receive times, and sends
 * advertisements as another router. Knows the payload of clock-engine.ts.
 */
import { createInterface } from 'node:readline'
import { loadNative, META, META_SIZE } from '../../src/linux/native.ts'
import { addressBytes, address as parse } from '../../src/wire/address.ts'

export type ObserverOrder = {
  /** Advertises once with this VRID. */
  readonly advertise?: { readonly family: 'ipv4' | 'ipv6'; readonly vrid: number }
}

const INDEX = 7
const TIMESTAMP = [1, 35] as const // SO_TIMESTAMPNS
const native = loadNative()
/** CLOCK_MONOTONIC and CLOCK_REALTIME in ms. */
const clocks = new Float64Array(3)
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`)
const int = (value: number): Uint8Array => new Uint8Array(Int32Array.of(value).buffer)

const tap = new native.NativeSocket(17, 3, 0x0300 /* ETH_P_ALL */, 64, 256)
const bound = new Uint8Array(20)
bound.set([17, 0, 0, 3, INDEX])
tap.setOption(...TIMESTAMP, int(1))
tap.setOption(1, 33 /* SO_RCVBUFFORCE */, int(8 << 20))
tap.bind(bound)

/** Returns the slot and the priority of a frame of clock-engine.ts; `undefined` for any other frame. */
function kindOf(frame: DataView): object | undefined {
  const type = frame.getUint16(12)
  if (type === 0x88b5) return { kind: 'question', slot: frame.getUint16(14) }
  const at = type === 0x0800 ? 14 + (frame.getUint8(14) & 15) * 4 : type === 0x86dd ? 54 : 0
  const protocol = type === 0x0800 ? frame.getUint8(23) : type === 0x86dd ? frame.getUint8(20) : 0
  if (protocol !== 112) return undefined
  const hops = frame.getUint8(type === 0x0800 ? 22 : 21)
  return {
    ...{ kind: type === 0x0800 ? 'ipv4' : 'ipv6', hops, word: frame.getUint16(at + 8) },
    ...{ vrid: frame.getUint8(at + 1), priority: frame.getUint8(at + 2), slot: frame.getUint16(at + 6) },
  }
}

tap.start(
  () => {
    native.clocks(clocks)
    const offset = (clocks[1] ?? 0) - (clocks[0] ?? 0)
    for (let count = tap.receive(); count > 0; count = tap.receive())
      for (let i = 0; i < count; i++) {
        const meta = new DataView(tap.meta.buffer, i * META_SIZE, META_SIZE)
        if (meta.getUint8(META.packetType) === 4) continue
        const kind = kindOf(new DataView(tap.data.buffer, i * 256, 256))
        if (kind !== undefined) say({ ...kind, at: meta.getFloat64(META.realtime, true) - offset })
      }
  },
  () => undefined,
)

const four = new native.NativeSocket(2, 3, 112, 1, 256)
four.setOption(0, 33, int(255)) // IP_MULTICAST_TTL
const out = new Uint8Array(12)
new DataView(out.buffer).setInt32(8, INDEX, true)
four.setOption(0, 32, out) // IP_MULTICAST_IF
const six = new native.NativeSocket(10, 3, 112, 1, 256)
six.setOption(41, 18, int(255)) // IPV6_MULTICAST_HOPS

function advertise({ family, vrid }: NonNullable<ObserverOrder['advertise']>): void {
  const group = new Uint8Array(family === 'ipv4' ? 16 : 28)
  if (family === 'ipv4') group.set([2, 0, 0, 0, ...addressBytes(parse('224.0.0.18'))])
  else {
    group.set([10, 0])
    group.set(addressBytes(parse('ff02::12')), 8)
    new DataView(group.buffer).setUint32(24, INDEX, true)
  }
  const results = (family === 'ipv4' ? four : six).send([Uint8Array.of(0x31, vrid, 50, 1, 0, 100, 0, 0)], [group])
  say({ advertised: vrid, failed: results === undefined ? 0 : results[0] })
}

createInterface({ input: process.stdin })
  .on('close', () => process.exit(0))
  .on('line', (text) => {
    const wanted: ObserverOrder = JSON.parse(text)
    if (wanted.advertise !== undefined) advertise(wanted.advertise)
  })
say({ ready: true })
