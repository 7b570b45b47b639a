// Runs a TCP client that prints what happens to its connection, one JSON object a line, with `at` (ms of
// CLOCK_MONOTONIC). After each of the given times in ms it sends `line N`. Arguments: ADDRESS PORT MS...
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
// libuv reports a reset as a normal end if the reset arrives directly after data.
socket.on('end', () => over('end'))
socket.on('error', ({ code }) => over(code))
