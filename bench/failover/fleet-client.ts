/**
 * A client of many addresses: asks each in turn, all of them once in 25 ms, and reports when another node answers than
 * before. It is a program of its own, so that it runs in the client's namespace:
 *   node fleet-client.js PORT ADDRESS...
 * JSON lines: { vip, at, name } (ms of CLOCK_MONOTONIC; vip: place in the list). At SIGTERM one more has the longest
 * time without an answer for each address since SIGUSR1. Does not know VRRP, the expected node, nor what a silence is
 * (fleet-record.ts).
 */
import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { FleetRecord } from './fleet-record.ts'

const ROUND = 25
/** More answers after a stall would not fit into the socket's buffer and would count as lost. */
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
// An ICMP error means that no answer came.
socket.on('error', () => {})

let asked = 0
const startedAt = now()
const timer = setInterval(() => {
  const due = Math.floor(((now() - startedAt) / ROUND) * addresses.length)
  // Probes that were missed in a stall are not sent later.
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
