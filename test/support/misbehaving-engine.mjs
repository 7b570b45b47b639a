/**
 * Loaded before the product's own bundle (NODE_OPTIONS=--import=…): the same engine, which upon SIGWINCH does what the file
 * named in MISBEHAVIOUR says: `throw` (an exception that nobody catches), `eat` (keeps what it allocates until the heap is
 * exhausted) or `block MS` (waits for so long in one call, as for a file system that hangs: a loop would take a whole CPU
 * from an engine with real-time priority's neighbours). Says on standard error when it began, and ended.
 * Refuses to know the product: what it does when it misbehaves is what is tested.
 */
import { readFileSync, writeSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const file = process.env.MISBEHAVIOUR
const now = () => Number(process.hrtime.bigint()) / 1e6
const say = (fields) => void writeSync(2, `${JSON.stringify(fields)}\n`)

/** A little in each turn, as a leak does: the engine runs in between, as long as the collector lets it. */
function eat(kept) {
  for (let i = 0; i < 50; i++) kept.push(Array.from({ length: 500 }, (_, n) => ({ n })))
  setTimeout(eat, 2, kept)
}

if (isMainThread && file !== undefined) {
  process.on('SIGWINCH', () => {
    const began = now()
    const [deed, ms = '0'] = readFileSync(file, 'utf8').trim().split(' ')
    say({ deed, began })
    if (deed === 'throw') throw new Error('misbehaving as it was told')
    if (deed === 'eat') eat([])
    if (deed !== 'block') return
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(ms))
    say({ deed, began, ended: now() })
  })
}
