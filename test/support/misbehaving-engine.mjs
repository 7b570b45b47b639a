/**
 * Loaded before the product's own bundle (NODE_OPTIONS=--import=…). The engine is the same, and misbehaves at SIGWINCH
 * as the file named in MISBEHAVIOUR says. `throw` is an exception without a handler. `eat` keeps its allocations until
 * the heap is exhausted. `block MS` waits for this time in one call, as for a file system that hangs. It does not loop,
 * because a loop with real-time priority would take a whole CPU from other processes. It reports on standard error when
 * it begins and ends. This file does not know the product: the tests judge its reaction.
 */
import { readFileSync, writeSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const file = process.env.MISBEHAVIOUR
const now = () => Number(process.hrtime.bigint()) / 1e6
const say = (fields) => void writeSync(2, `${JSON.stringify(fields)}\n`)

/** Allocates a little in each turn, as a leak does: the engine runs in between, as long as the collector lets it. */
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
