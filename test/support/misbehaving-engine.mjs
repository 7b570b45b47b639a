/**
 * Makes an engine misbehave at SIGWINCH, in the way that the file named in MISBEHAVIOUR gives. Node loads this script
 * before the product's own bundle (NODE_OPTIONS=--import=…). `throw` is an exception without a handler. `eat` keeps its
 * allocations until the heap is exhausted, after long pauses of the garbage collector. `fill` exhausts the heap without
 * such pauses. `block MS` waits for MS milliseconds in one call, as a file system that hangs. The script does not loop,
 * because a loop with real-time priority would take a whole CPU from other processes. The script writes to standard
 * error when the misbehaviour begins and ends. The script does not know the product: the tests judge the product's
 * reaction.
 */
import { readFileSync, writeSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const file = process.env.MISBEHAVIOUR
const now = () => Number(process.hrtime.bigint()) / 1e6
const say = (fields) => void writeSync(2, `${JSON.stringify(fields)}\n`)

/**
 * Allocates a little memory in each turn of the event loop, as a leak does. The engine runs in between, as long as the
 * garbage collector lets it.
 */
function eat(kept) {
  for (let i = 0; i < 50; i++) kept.push(Array.from({ length: 500 }, (_, n) => ({ n })))
  setTimeout(eat, 2, kept)
}

/** Keeps arrays of numbers. The garbage collector does not search them, so it takes little time until the heap is full. */
function fill(kept) {
  kept.push(new Array(125_000).fill(0.5))
  setTimeout(fill, 2, kept)
}

if (isMainThread && file !== undefined) {
  process.on('SIGWINCH', () => {
    const began = now()
    const [deed, ms = '0'] = readFileSync(file, 'utf8').trim().split(' ')
    say({ deed, began })
    if (deed === 'throw') throw new Error('misbehaving as it was told')
    if (deed === 'eat') eat([])
    if (deed === 'fill') fill([])
    if (deed !== 'block') return
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(ms))
    say({ deed, began, ended: now() })
  })
}
