/**
 * Changes an engine under test. Node loads this script before the product's own bundle (NODE_OPTIONS=--import=…). The
 * engine's clock and receive time stamps are moved, or the engine does not drain its sockets before a decision. The
 * chaos suite decides the time and the offset: it writes the offset into the file CHAOS_CLOCK and sends SIGWINCH. The
 * machine's clock is never changed.
 * With CHAOS_DRAIN=off, the engine finds nothing in the queues of advertisements when a timer expires. The engine reads
 * the queues only when the event loop reports the socket. The engine's alarm is then a timer of Node, which fires before
 * Node reads any socket. The kernel could report the socket before the descriptor of the usual alarm.
 * With CHAOS_WATCH=off, no timer tells a Backup that the repetitions of its Active have ended (docs/adr/0087).
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

const AF_INET = 2
const AF_INET6 = 10
const RAW = 3
const META_SIZE = 128
const META_REALTIME = 16
const root = join(import.meta.dirname, '..', '..')
const require = createRequire(join(root, 'package.json'))
const drains = process.env.CHAOS_DRAIN !== 'off'
const watches = process.env.CHAOS_WATCH !== 'off'
const clockFile = process.env.CHAOS_CLOCK

function patch() {
  const file = require('node-gyp-build').path(join(root, 'native'))
  const addon = require(file)
  let offset = 0
  let before = 0
  /** Time at which the clock was moved, by the machine's own clock. */
  let steppedAt = 0
  const read = new Float64Array(3)

  class NativeSocket extends addon.NativeSocket {
    #advertisements
    #reading = false
    constructor(family, type, ...rest) {
      super(family, type, ...rest)
      this.#advertisements = type === RAW && (family === AF_INET || family === AF_INET6)
    }
    start(onReadable, onError) {
      super.start(() => {
        this.#reading = true
        try {
          onReadable()
        } finally {
          this.#reading = false
        }
      }, onError)
    }
    dueRepeated(...all) {
      if (watches) super.dueRepeated(...all)
    }
    receive() {
      if (!drains && this.#advertisements && !this.#reading) return 0
      const count = super.receive()
      if (steppedAt === 0) return count
      const view = new DataView(this.meta.buffer, this.meta.byteOffset, this.meta.byteLength)
      for (let i = 0; i < count; i++) {
        const at = i * META_SIZE + META_REALTIME
        const stamp = view.getFloat64(at, true)
        if (stamp !== 0) view.setFloat64(at, stamp + (stamp >= steppedAt ? offset : before), true)
      }
      return count
    }
  }

  class NoTimer {
    constructor() {
      throw new Error('The chaos suite has taken the kernel timer away')
    }
  }

  require.cache[require.resolve(file)].exports = {
    ...addon,
    NativeSocket,
    ...(drains ? {} : { NativeTimer: NoTimer }),
    clocks(out) {
      addon.clocks(out)
      out[1] += offset
    },
  }
  if (clockFile === undefined) return
  const wall = Date.now
  Date.now = () => wall() + offset
  process.on('SIGWINCH', () => {
    addon.clocks(read)
    before = offset
    steppedAt = read[1]
    offset = Number(readFileSync(clockFile, 'utf8'))
  })
}

if (isMainThread) patch()
