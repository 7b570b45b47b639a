// A TCP client that says what becomes of its connection, one JSON object a line with `at` (ms, CLOCK_MONOTONIC). Sends `line N` after
// each of these times. Arguments: ADDRESS PORT MS...
import { connect } from 'node:net'

const [, , address, port, ...times] = process.argv
const say = (event, more = {}) =>
  console.log(JSON.stringify({ at: Number(process.hrtime.bigint()) / 1e6, event, ...more }))
const socket = connect({ host: address, port: Number(port), noDelay: true })
socket.setEncoding('utf8')
socket.on('connect', () => {
  say('connected')
  for (const [i, after] of times.entries()) setTimeout(() => socket.write(`line ${i}\n`), Number(after))
})
socket.on('data', (text) => say('data', { from: text.split(' ')[0] }))
const over = (code) => {
  say('over', { code })
  process.exit(0)
}
// libuv reports a reset as the end if it comes right behind data.
socket.on('end', () => over('end'))
socket.on('error', ({ code }) => over(code))
