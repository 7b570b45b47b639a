/**
 * Asks an address each 10 ms over a new connection, and prints one JSON line for each request that has ended. The line
 * has the number of the request, the time of its start (CLOCK_MONOTONIC in ms), whether it was answered, and how long
 * it took. A request without an answer after 2 s is lost. Arguments: ADDRESS, PORT, and `hold N` for N connections that
 * stay open. The program with `hold` prints {"broken": n} when it ends.
 */
import { request } from 'node:http'

const [host, port, , held = '0'] = process.argv.slice(2)
const EVERY = 10
const PATIENCE = 2_000
const now = () => Number(process.hrtime.bigint()) / 1e6
const print = (value) => console.log(JSON.stringify(value))

let asking = 0
function ask() {
  const [number, at] = [asking++, now()]
  const done = (ok, what) => {
    if (isDone) return
    isDone = true
    print({ number, at, ok, ms: now() - at, what })
  }
  let isDone = false
  const asked = request({ host, port, path: '/', agent: false, timeout: PATIENCE }, (answer) => {
    let text = ''
    answer.on('data', (chunk) => {
      text += chunk
    })
    answer.on('end', () => done(answer.statusCode === 200, text))
    answer.on('error', (error) => done(false, error.code ?? error.message))
  })
  asked.on('timeout', () => asked.destroy(new Error('no answer')))
  asked.on('error', (error) => done(false, error.code ?? error.message))
  asked.end()
}

let broken = 0
let open = 0
for (let i = 0; i < Number(held); i++) {
  const asked = request({ host, port, path: '/hold', agent: false }, (answer) => {
    open += 1
    if (open === Number(held)) print({ open })
    answer.on('error', () => {})
    answer.on('close', () => print({ broken: ++broken }))
    answer.resume()
  })
  asked.on('error', (error) => print({ broken: ++broken, what: error.code }))
  asked.end()
}
setInterval(ask, EVERY)
