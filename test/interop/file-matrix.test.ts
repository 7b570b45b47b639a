/**
 * holdfast between two keepalived nodes, all with keepalived's file, through the events of docs/mixed-groups.md.
 * These are the two cells with most differences; npm run bench:matrix has all twelve, beside groups of one kind.
 * Decides the bounds by the formula of keepalived's own outages.
 */
import { expect, type TestContext } from 'vitest'
import { judgeTime } from '../judge/time.ts'
import type { Row } from '../support/file-group.ts'
import { type Measured, playEvents } from '../support/group-events.ts'
import { describeInterop } from '../support/require.ts'
import { Turns } from '../support/turns.ts'

const CELLS: Readonly<Record<string, Row>> = {
  'IPv4 unicast': { family: 'ipv4', version: 2, transport: 'unicast', intervalMs: 1_000 },
  'IPv6 multicast': { family: 'ipv6', version: 3, transport: 'multicast', intervalMs: 1_000 },
}
/** ms for a busy machine; the formula's parts differ by 844 ms and more. */
const SLACK = 700
const PROMISE = 'docs/migrating-from-keepalived.md'
/**
 * ms with several holders. One advertisement decides between equal nodes that take over together, and a leaving node
 * goes 5 ms after the successor's announcement. Both took 10 to 20 ms when the daemons had a CPU. This bound is
 * larger, because a daemon without CPU reads the advertisement late and answers until then (149 ms was seen). Nodes
 * that need a second advertisement answer together for 1 s and more. npm run bench:matrix checks 20 ms.
 */
const SEVERAL = 500
/**
 * ms of a hand-over. A node that leaves too early leaves the client for the successor's Skew_Time, 727 ms and more.
 */
const HANDED_OVER = 400
/** Skew_Time in ms of the smallest of the priorities 40, 60 and 70, which is the longest. */
const SKEW = ((256 - 40) / 256) * 1_000

function nobodyAllowed({ event, outcome }: Measured): number {
  if (outcome === 'holds') return 0
  if (outcome === 'comes') return 20_000
  if (event.startsWith('SIGKILL')) return 3_000 + SKEW + SLACK
  if (event.startsWith('SIGTERM') || event.endsWith('FAULT')) return SKEW + SLACK
  // A better node takes the address from an existing holder.
  return HANDED_OVER
}

async function plays(row: Row, { onTestFinished }: TestContext): Promise<void> {
  const measured = await playEvents({ lineUp: 'mixed', row }, (group) => onTestFinished(() => group.destroy()))
  if (process.env.HOLDFAST_FIGURES === '1') process.stderr.write(`${JSON.stringify({ row, measured })}\n`)
  for (const one of measured) {
    const told = JSON.stringify(one)
    judgeTime(`with no holder: ${told}`, one.nobody, nobodyAllowed(one), PROMISE)
    if (one.outcome === 'holds') expect(one.to, `the holder after: ${told}`).toBe(one.from)
    if (one.rivals.some((name) => name.endsWith('holdfast')))
      judgeTime(`with two holders, one of them a holdfast: ${told}`, one.several, SEVERAL, PROMISE)
  }
}

describeInterop('holdfast among keepalived nodes, all with the same file', () => {
  const turns = new Turns(2)
  for (const [name, row] of Object.entries(CELLS)) turns.test(name, (context) => plays(row, context))
})
