/**
 * Shifts the wall clock of an agent by the milliseconds in the file SHIFTED_CLOCK, which is read again at SIGWINCH.
 * Node loads this script before the agent's own bundle (NODE_OPTIONS=--import=…). The machine's clock and the monotonic
 * clock stay untouched.
 */
import { readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const file = process.env.SHIFTED_CLOCK

if (isMainThread && file !== undefined) {
  const read = () => Number(readFileSync(file, 'utf8'))
  const wall = Date.now
  let ahead = read()
  Date.now = () => wall() + ahead
  process.on('SIGWINCH', () => {
    ahead = read()
  })
}
