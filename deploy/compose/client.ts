/**
 * The client of the lab (docker-compose.yml): for each address it starts a prober, which asks once a millisecond, and an
 * observer, which asks everybody who has it. Says what they saw in words, or with LAB_CLIENT_OUTPUT=json as they said it,
 * one object a line with the `address` beside. Refuses to know what happens to the routers.
 *
 *   client.ts 198.51.100.100 fd42:51::100
 */
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

type Fields = Readonly<Record<string, unknown>>

const PREBUILDS = '/opt/holdfast/native/prebuilds'
const PROBE = join(PREBUILDS, readdirSync(PREBUILDS).find((name) => name.startsWith('linux-')) ?? '', 'holdfast-probe')
const PORT = '7007'
const inWords = process.env.LAB_CLIENT_OUTPUT !== 'json'

/** Milliseconds of the probers' clock, which is the machine's since its start, as the time of day. */
function timeOfDay(t: unknown): string {
  const sinceStart = Number(process.hrtime.bigint() / 1_000_000n)
  return new Date(Date.now() - sinceStart + Number(t)).toISOString().slice(11, 23)
}

const ms = (value: unknown) => `${Number(value).toFixed(0)} ms`
const together = (macs: unknown): macs is readonly string[] => Array.isArray(macs) && macs.length > 1

/** What is worth a line; two holders are told when they begin and when they end. */
function sentence(fields: Fields, before: Fields | undefined): string | undefined {
  switch (fields.event) {
    case 'holder':
      return `${fields.name} answers`
    case 'gap':
      return `${ms(fields.ms)} without an answer, ${fields.lost} probes lost${fields.open === true ? ', and still none' : ''}`
    case 'claim':
      if (together(fields.macs)) return `two say that they have it: ${fields.macs.join(', ')}`
      return together(before?.macs) ? `one has it again, after ${ms(Number(fields.t) - Number(before?.t))}` : undefined
    case 'summary':
      return 'sent' in fields
        ? `${fields.sent} probes, ${fields.lost} lost, the longest time without an answer ${ms(fields.longestGapMs)}`
        : undefined
    default:
      return undefined
  }
}

/** Ends as its program does: none of them ends by itself. */
function watch(address: string, argv: readonly string[]): void {
  const child = spawn(PROBE, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
  let claim: Fields | undefined
  createInterface({ input: child.stdout }).on('line', (line) => {
    const fields: Fields = JSON.parse(line)
    const text = inWords ? sentence(fields, claim) : JSON.stringify({ address, ...fields })
    if (fields.event === 'claim') claim = fields
    if (text !== undefined)
      process.stdout.write(inWords ? `${timeOfDay(fields.t)}  ${address}  ${text}\n` : `${text}\n`)
  })
  child.once('error', (error) => {
    process.stderr.write(`client: Cannot start ${PROBE}: ${error.message}\n`)
    process.exitCode = 1
  })
  child.once('close', (code) => {
    if (code !== 0) process.exitCode = 1
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill('SIGTERM'))
}

for (const address of process.argv.slice(2)) {
  watch(address, ['probe', address, PORT])
  watch(address, ['arp', 'eth0', address])
}
