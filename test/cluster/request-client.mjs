/**
 * Requests /version of an API server each 10 ms over a new TLS connection. Prints one JSON line for each request that
 * has ended: start (CLOCK_MONOTONIC in ms), whether it was answered, duration, and the error code. A request without an answer after
 * 2 s has failed. Argument: ADDRESS.
 */
import { request } from 'node:https'

const [host] = process.argv.slice(2)
const EVERY = 10
const PATIENCE = 2_000
const now = () => Number(process.hrtime.bigint()) / 1e6

function ask() {
  const at = now()
  let isDone = false
  const done = (ok, what) => {
    if (isDone) return
    isDone = true
    process.stdout.write(`${JSON.stringify({ at, ok, ms: now() - at, what })}\n`)
  }
  const asked = request(
    { host, port: 6443, path: '/version', agent: false, timeout: PATIENCE, rejectUnauthorized: false },
    (answer) => {
      answer.resume()
      answer.on('end', () => done(answer.statusCode === 200, answer.statusCode))
      answer.on('error', (error) => done(false, error.code ?? error.message))
    },
  )
  asked.on('timeout', () => asked.destroy(new Error('no answer')))
  asked.on('error', (error) => done(false, error.code ?? error.message))
  asked.end()
}
setInterval(ask, EVERY)
