/**
 * Loaded before an agent's own bundle (NODE_OPTIONS=--import …): the same agent, by a wall clock that is as many ms ahead as
 * the file SHIFTED_CLOCK says, read again at SIGWINCH. The machine's clock is never touched, nor the one that only goes forward.
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
