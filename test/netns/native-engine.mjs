/**
 * A stand-in for the engine below the guardian. Reports that it is ready, writes the bytes of an order, prints received signals, and dies
 * as an order says. Knows no other message than READY.
 */
import { closeSync, readFileSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

const channel = Number(process.env.HOLDFAST_GUARDIAN_FD)
/** Message READY, which is kind 6 of native/guardian/message.h. */
const READY = '010600000000000000000000'
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)

for (const signal of ['SIGHUP', 'SIGTERM', 'SIGINT', 'SIGUSR1', 'SIGUSR2']) process.on(signal, () => say({ signal }))

function write(hex) {
  try {
    return writeSync(channel, Buffer.from(hex, 'hex'))
  } catch (error) {
    return error.code
  }
}

write(READY)

createInterface({ input: process.stdin }).on('line', (text) => {
  const order = JSON.parse(text)
  if (order.write !== undefined) say({ wrote: write(order.write) })
  if (order.fill !== undefined) {
    let count = 0
    while (count < 1e6 && write(order.fill) === order.fill.length / 2) count++
    say({ filled: count, next: write(order.fill) })
  }
  if (order.closeChannel) closeSync(channel)
  if (order.exit !== undefined) process.exit(order.exit)
  if (order.kill !== undefined) process.kill(process.pid, order.kill)
})

const limits = readFileSync('/proc/self/limits', 'utf8')
say({ ready: true, pid: process.pid, core: /Max core file size\s+(\S+)/.exec(limits)?.[1] })
