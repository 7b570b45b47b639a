/**
 * Runs a client of many addresses: it probes each address in turn, all of them once in 25 ms, and reports each change
 * of the answering node. The client is a program of its own, so that it runs in the client's network namespace:
 *   node fleet-client.js PORT ADDRESS...
 * It prints JSON lines: { vip, at, name } (at: ms of CLOCK_MONOTONIC; vip: position of the address in the list). At
 * SIGTERM it prints one more line, with the longest time without an answer since SIGUSR1 for each address. This program
 * does not know VRRP, the expected node, nor what counts as silence (fleet-record.ts).
 */
import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { FleetRecord } from './fleet-record.ts'

const ROUND = 25
/**
 * Most probes that are sent together. More replies than this after a stall would not fit into the socket's buffer and
 * would count as lost.
 */
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
// The kernel reports an ICMP error on this socket; it means that no answer came.
socket.on('error', () => {})

let asked = 0
const startedAt = now()
const timer = setInterval(() => {
  const due = Math.floor(((now() - startedAt) / ROUND) * addresses.length)
  // Probes that were due during a stall of this program are not sent later.
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
