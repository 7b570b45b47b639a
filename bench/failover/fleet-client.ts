/**
 * A client of many addresses: asks each in turn, all of them once in 25 ms, and tells who answered when that was another
 * than before. A program of its own, so that it runs in the client's namespace:
 *   node fleet-client.js PORT ADDRESS...
 * JSON lines: { vip, at, name } (ms of CLOCK_MONOTONIC; vip: place in the list), at SIGTERM one more with the longest time
 * without an answer of each since SIGUSR1. Refuses to know VRRP and who should answer.
 */
import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'

const ROUND = 25
const now = (): number => Number(process.hrtime.bigint()) / 1e6

type Watched = { name: string; heardAt: number; silence: number }

const [port = '0', ...addresses] = process.argv.slice(2)
const watched: Watched[] = addresses.map(() => ({ name: '', heardAt: now(), silence: 0 }))
const socket = createSocket(isIPv6(addresses[0] ?? '') ? 'udp6' : 'udp4')

function heard(one: Watched): void {
  const at = now()
  one.silence = Math.max(one.silence, at - one.heardAt)
  one.heardAt = at
}

socket.on('message', (message) => {
  const [word = '', name = ''] = message.toString().trim().split(' ')
  const vip = Number(word)
  const one = watched[vip]
  if (one === undefined) return
  heard(one)
  if (one.name === name) return
  one.name = name
  process.stdout.write(`${JSON.stringify({ vip, at: one.heardAt, name })}\n`)
})
// Nobody there: an ICMP error is an answer that did not come.
socket.on('error', () => {})

let asked = 0
const startedAt = now()
const timer = setInterval(() => {
  const due = Math.floor(((now() - startedAt) / ROUND) * addresses.length)
  // After a stall the rounds that were missed are not made up for.
  asked = Math.max(asked, due - addresses.length)
  for (; asked < due; asked++) {
    const vip = asked % addresses.length
    socket.send(`${vip} `, Number(port), addresses[vip], () => {})
  }
}, 1)

process.on('SIGUSR1', () => {
  for (const one of watched) one.silence = 0
})
process.on('SIGTERM', () => {
  clearInterval(timer)
  for (const one of watched) heard(one)
  process.stdout.write(`${JSON.stringify({ silences: watched.map(({ silence }) => Math.round(silence)) })}\n`, () =>
    process.exit(0),
  )
})
