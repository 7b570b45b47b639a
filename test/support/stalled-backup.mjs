/**
 * Runs a Backup whose event loop is blocked on purpose. The engine is the product's own from dist/, and this script
 * observes one of its ports. The script is plain JavaScript, because it runs as a process of its own in a network
 * namespace. The script prints one JSON line for each stall. stall.test.ts judges these lines.
 *
 * argv: CONFIG drain|no-drain COUNT STALL_MS.
 */
import { openSync, read as readFile, readFileSync } from 'node:fs'
import { parseConfig } from '../../dist/config/text/yaml.js'
import { Daemon } from '../../dist/daemon/daemon.js'
import { Recorder } from '../../dist/daemon/telemetry/recorder.js'
import { openClock } from '../../dist/linux/clock.js'
import { openGuardian } from '../../dist/linux/guardian/guardian.js'
import { openKernelTimer } from '../../dist/linux/kernel-timer.js'
import { loadNative } from '../../dist/linux/native.js'
import { openNetwork } from '../../dist/linux/network.js'
import { loadRawSocketPackage } from '../../dist/linux/sockets/raw-socket-package.js'
import { openSockets } from '../../dist/linux/sockets/sockets.js'

const [file, mode, count, stallMs] = process.argv.slice(2)
const { config } = parseConfig(readFileSync(file, 'utf8'), file)
const native = loadNative()
const clock = openClock(native)
const raw = config.io === 'raw-socket' ? loadRawSocketPackage() : undefined
const real = openSockets(native, clock, raw)
/**
 * Times at which the kernel received the Active's advertisements. The package raw-socket does not report them, so with
 * raw-socket another socket, of the addon, receives the same packets.
 */
let heard = []
const witnesses = []
function openWitness(options) {
  const onReadable = () => witness.drain(4, ({ receivedAt }) => heard.push(receivedAt))
  const witness = openSockets(native, clock).openAdvertisementSocket({ ...options, onReadable })
  if (!('code' in witness)) witnesses.push({ close: () => witness.close(), look: onReadable })
}

const sockets = {
  ...real,
  openAdvertisementSocket(options) {
    const socket = real.openAdvertisementSocket(options)
    if ('code' in socket) return socket
    if (raw !== undefined) openWitness(options)
    return {
      send: (datagrams) => socket.send(datagrams),
      join: (group) => socket.join(group),
      close: () => socket.close(),
      drain(batches, deliver) {
        return socket.drain(batches, (packet) => {
          if (raw === undefined) heard.push(packet.receivedAt)
          deliver(packet)
        })
      },
    }
  },
}

const recorder = new Recorder()
let takeovers = []
recorder.attach(({ fields }) => {
  if (fields.to === 'Active') takeovers.push({ at: clock.now(), reason: fields.reason })
})
const network = openNetwork(native, clock)
// With no-drain the engine uses timers of Node, which fire before any socket is read. The daemon's own timer is read
// like a socket.
const wakeUp = mode === 'no-drain' ? undefined : openKernelTimer(native)?.wakeUp
const ports = { clock, wakeUp, network, sockets, guardian: openGuardian(undefined), recorder }
const daemon = new Daemon(config, ports, { drainBeforeExpire: mode !== 'no-drain' })
daemon.start()

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const burn = (ms) => {
  const until = clock.now() + ms
  while (clock.now() < until);
}
const zero = openSync('/dev/zero', 'r')
const stalls = {
  check: (done) => setImmediate(done),
  io: (done) => readFile(zero, Buffer.alloc(1), 0, 1, 0, done),
}

await sleep(1500)
for (let i = 0; i < Number(count); i++) {
  heard = []
  takeovers = []
  const phase = i % 2 === 0 ? 'check' : 'io'
  await sleep(400 + 37 * (i % 7))
  const startedAt = clock.now()
  await new Promise((resolve) =>
    stalls[phase](() => {
      burn(Number(stallMs))
      resolve()
    }),
  )
  const endedAt = clock.now()
  await sleep(300)
  for (const { look } of witnesses) look()
  const gaps = heard.slice(1).map((at, n) => at - heard[n])
  console.log(
    JSON.stringify({
      phase,
      state: daemon.snapshot().routers[0].state,
      stalledMs: endedAt - startedAt,
      takeovers: takeovers
        .filter(({ at }) => at >= startedAt)
        .map(({ at, reason }) => ({ afterMs: at - startedAt, reason })),
      heard: heard.length,
      longestGapMs: Math.max(0, ...gaps),
    }),
  )
}
for (const { close } of witnesses) close()
await daemon.stop()
daemon.close()
