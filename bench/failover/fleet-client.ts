/**
 * A client of many addresses: asks each in turn, all of them once in 25 ms, and tells who answered when that was another
 * than before. A program of its own, so that it runs in the client's namespace:
 *   node fleet-client.js PORT ADDRESS...
 * JSON lines: { vip, at, name } (ms of CLOCK_MONOTONIC; vip: place in the list), at SIGTERM one more with the longest time
 * without an answer of each since SIGUSR1. Refuses to know VRRP, who should answer and what a silence is (fleet-record.ts).
 */
import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { FleetRecord } from './fleet-record.ts'

const ROUND = 25
/** Answers to more than that, after a stall, would not fit into the socket's buffer and count as lost. */
const AT_ONCE = 100
const now = (): number => Number(process.hrtime.bigint()) / 1e6

const [port = '0', ...addresses] = process.argv.slice(2)
const record = new FleetRecord(addresses.length)
const socket = createSocket(isIPv6(addresses[0] ?? '') ? 'udp6' : 'udp4')

socket.on('message', (message) => {
  const [word = '', name = ''] = message.toString().trim().split(' ')
  const [vip = Number.NaN, probe = Number.NaN] = word.split('.').map(Number)
  const at = now()
  if (record.answer(vip, probe, name, at)) process.stdout.write(`${JSON.stringify({ vip, at, name })}\n`)
})
// Nobody there: an ICMP error is an answer that did not come.
socket.on('error', () => {})

let asked = 0
const startedAt = now()
const timer = setInterval(() => {
  const due = Math.floor(((now() - startedAt) / ROUND) * addresses.length)
  // What was missed in a stall is not made up for.
  asked = Math.max(asked, due - AT_ONCE)
  for (; asked < due; asked++) {
    const vip = asked % addresses.length
    socket.send(`${vip}.${record.ask(vip, now())} `, Number(port), addresses[vip], () => {})
  }
}, 1)

process.on('SIGUSR1', () => record.begin())
process.on('SIGTERM', () => {
  clearInterval(timer)
  process.stdout.write(`${JSON.stringify({ silences: record.end(now()) })}\n`, () => process.exit(0))
})
