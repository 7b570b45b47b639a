/**
 * A Backup whose event loop is blocked on purpose: the product's own engine out of dist/, with one port listened to.
 * Plain JavaScript, because it runs as a process of its own inside a network namespace. Prints one JSON line per stall
 * and decides nothing: stall.test.ts does.
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
/** Kernel receive times of the Active's advertisements. raw-socket has none: there a socket of the addon listens beside. */
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
// Node's own timers are what runs before the sockets are read; the daemon's is read like one of them.
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
