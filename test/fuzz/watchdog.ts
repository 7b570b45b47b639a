/**
 * Watchdog of an input that never ends. A separate thread looks at the current input. If it stays the same for too
 * long, the thread writes it to a file and ends the process.
 */
import { Worker } from 'node:worker_threads'

const ROOM = 1 << 17
const PATIENCE = 60_000

/** Plain JavaScript: a thread of its own that needs nothing of this repository. */
const WATCHER = `
const { workerData: { shared, file, patience } } = require('node:worker_threads')
const { writeFileSync } = require('node:fs')
const words = new Int32Array(shared, 0, 2)
let last = -1
setInterval(() => {
  const count = Atomics.load(words, 0)
  if (count === last) {
    writeFileSync(file, new Uint8Array(shared, 8, Atomics.load(words, 1)).slice())
    process.stderr.write('It does not end: the input is in ' + file + '\\n')
    process.kill(process.pid, 'SIGKILL')
  }
  last = count
}, patience)
`

export type Watchdog = { readonly see: (input: Uint8Array) => void; readonly end: () => Promise<unknown> }

export function startWatchdog(file: string): Watchdog {
  const shared = new SharedArrayBuffer(ROOM)
  const words = new Int32Array(shared, 0, 2)
  const room = new Uint8Array(shared, 8)
  const worker = new Worker(WATCHER, { eval: true, workerData: { shared, file, patience: PATIENCE } })
  worker.unref()
  return {
    see(input) {
      room.set(input.subarray(0, room.length))
      Atomics.store(words, 1, input.length)
      Atomics.add(words, 0, 1)
    },
    end: () => worker.terminate(),
  }
}
