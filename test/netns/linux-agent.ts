/**
 * The adapters of src/linux inside a network namespace. linux-fixture.ts sends the orders line by line to standard input. The agent runs
 * the sources, not a build, and prints each event and packet as a line when it happens.
 */
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { AdvertisementSocket, AdvertisementSocketOptions, Failure, FrameSocket } from '../../src/daemon/ports.ts'
import { openClock } from '../../src/linux/clock.ts'
import { openGuardian } from '../../src/linux/guardian/guardian.ts'
import { loadNative } from '../../src/linux/native.ts'
import { openNetwork } from '../../src/linux/network.ts'
import { loadRawSocketPackage } from '../../src/linux/sockets/raw-socket-package.ts'
import { openSockets } from '../../src/linux/sockets/sockets.ts'
import type { AgentCall, AgentCalls, AgentPacket, Opened } from './linux-fixture.ts'

const native = loadNative()
const clock = openClock(native)
const network = openNetwork(native, clock)
/** Package raw-socket, if the environment has `HOLDFAST_IO=raw-socket`: advertisements then pass through the package. */
const raw = process.env.HOLDFAST_IO === 'raw-socket' ? loadRawSocketPackage() : undefined
const sockets = openSockets(native, clock, raw)
const guardian = openGuardian()
const adverts: AdvertisementSocket[] = []
const frames: FrameSocket[] = []
/** Number of calls of onReadable, of all advertisement sockets. */
let wakeUps = 0

const say = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'))

function opened<T extends AdvertisementSocket | FrameSocket>(list: T[], socket: T | Failure): Opened {
  if ('code' in socket) return { failure: socket }
  list.push(socket)
  return { socket: list.length - 1 }
}

function at<T>(list: readonly T[], index: number): T {
  const found = list[index]
  if (found === undefined) throw new Error(`no socket ${index}`)
  return found
}

function drainOne(socket: number, maxBatches: number, keep: number) {
  const packets: AgentPacket[] = []
  const result = at(adverts, socket).drain(maxBatches, (packet) => {
    if (packets.length < keep) packets.push({ ...packet, bytes: hex(packet.bytes) })
  })
  return { ...result, kept: packets, now: clock.now() }
}

const calls: AgentCalls = {
  links: () => network.links() ?? [],
  addresses: () => network.addresses() ?? [],
  apply: (steps) => network.apply(steps, (index) => network.links()?.find((link) => link.index === index)?.name),
  watch: () => network.watch((event) => say({ event })),
  openAdvert: (options) => {
    const onOverdue = (): void => say({ overdue: clock.now() })
    const events = { onOverdue, onFailure: (failure: object) => say({ failure }) }
    // An unread queue would wake the event loop for ever. For this reason the agent reports a readable socket once and
    // stops reading.
    const told = { once: false }
    const onReadable = (): void => {
      wakeUps++
      if (!told.once) say({ readable: true })
      told.once = true
    }
    const full: AdvertisementSocketOptions = { group: undefined, ...options, ...events, onReadable }
    return opened(adverts, sockets.openAdvertisementSocket(full))
  },
  send: (socket, datagrams) =>
    at(adverts, socket).send(datagrams.map((one) => ({ destination: one.destination, bytes: bytes(one.bytes) }))),
  /** Sends `count` datagrams of the same bytes in batches of 1 000. Returns the number of accepted datagrams. */
  flood: (socket, destination, count, text) => {
    const datagrams = Array.from({ length: 1000 }, () => ({ destination, bytes: bytes(text) }))
    let accepted = 0
    for (let sent = 0; sent < count; sent += 1000) {
      accepted += at(adverts, socket)
        .send(datagrams)
        .filter(({ ok }) => ok).length
    }
    return accepted
  },
  drain: (socket, maxBatches, keep = 100) => drainOne(socket, maxBatches, keep),
  watchRepeated: (socket, order) =>
    at(adverts, socket).repetitions?.watch({ ...order, until: order.until ?? Infinity, bytes: bytes(order.bytes) }),
  readRepeated: (socket, vrid) => at(adverts, socket).repetitions?.read(vrid),
  wakeUps: () => wakeUps,
  sleeps: () => Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]),
  endRepeated: (socket, vrid) => at(adverts, socket).repetitions?.end(vrid),
  join: (socket, group) => at(adverts, socket).join(group) ?? 'joined',
  closeAdvert: (socket) => at(adverts, socket).close(),
  openFrames: ({ hears, family = 'ipv4', ...options }) => {
    const index = frames.length
    const onFrame = (frame: Uint8Array): void => {
      say({ frame: hex(frame) })
      if (hears === 'once') at(frames, index).close()
    }
    const onFailure = (failure: object): void => say({ failure })
    return opened(
      frames,
      sockets.openFrameSocket({
        ...options,
        family,
        hears: hears === 'once' ? 'claims' : hears,
        onFrame,
        onFailure,
      }),
    )
  },
  expectAnswer: (socket, from, answer, within) => at(frames, socket).expect?.(from, bytes(answer), within),
  answeredAt: (socket, from) => at(frames, socket).answeredAt?.(from),
  watchNeighbors: (interfaceIndex, family) => {
    const opened = sockets.openNeighborWatch({
      ...{ interfaceIndex, interfaceName: 'eth0', family },
      onNeighbor: (address, resolution) => say({ neighbor: { address, resolution } }),
      onLost: () => say({ failure: { code: 'lost' } }),
      onFailure: (failure) => say({ failure }),
    })
    return 'code' in opened ? opened : undefined
  },
  sendFrames: (socket, list) => at(frames, socket).send(list.map(bytes)),
  arm: ({ packets, ...plan }) =>
    guardian.arm({
      ...plan,
      packets: packets.map(({ datagrams, ...group }) => ({
        ...group,
        datagrams: datagrams.map((one) => ({ ...one, bytes: bytes(one.bytes) })),
      })),
    }),
  withdraw: (unit) => guardian.withdraw(unit),
  armed: () => guardian.armed,
  die: () => process.kill(process.pid, 'SIGKILL'),
  /** Blocks the event loop for `ms`. */
  block: (ms) => {
    const until = clock.now() + ms
    while (clock.now() < until);
  },
  memory: () => process.memoryUsage().rss,
  now: () => clock.now(),
}

function answer({ id, method, args }: AgentCall): void {
  try {
    const call: (...values: never[]) => unknown = calls[method]
    say({ id, result: call(...args) ?? null })
  } catch (error) {
    say({ id, error: String(error) })
  }
}

createInterface({ input: process.stdin })
  .on('line', (line) => answer(JSON.parse(line)))
  .on('close', () => process.exit(0))
say({ ready: true })
