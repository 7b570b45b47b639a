/**
 * Plays the only order of packets after which no router asks the LAN for another holder of the address. The cut heals
 * after the Active has asked for another holder of the address, and before the Active advertises. keepalived yields to
 * the advertisement without a packet, and only later packets can show that (docs/adr/0022). By chance this happens once
 * in hundreds of heals. In this test the rare order happens every time, because the bridge opens with the
 * advertisement. The pair and its assertions are in pair.ts.
 */
import { type TestContext, test } from 'vitest'
import { ADVERTISEMENT, Gate, PROBE } from '../../src/lab/gate.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { judgeTime } from '../judge/time.ts'
import { describeInterop } from '../support/require.ts'
import { Turns } from '../support/turns.ts'
import type { Match, Protocol } from './match.ts'
import { Pair } from './pair.ts'

/** Time in ms after a takeover until its announcements end, which would hide a stale neighbour entry. */
const ANNOUNCED = 5_500
/** Limit in ms without an answer. A client without the announcement waits 5 to 8 s, until its kernel doubts its entry. */
const SILENCE = 500
/**
 * Longest time in ms from the first to the last announcement of a takeover by keepalived: five announcements in 5 to 45
 * ms. More time shows another order of the packets.
 */
const BATCH = 200
const RUNS = Number(process.env.REPEAT ?? '1')

type Row = Pick<Match, 'protocol' | 'transport' | 'listed'> & {
  /** Whether the cut of the question stays after the heal, so that later questions reach no router either. */
  readonly deaf?: boolean
}
const rows: readonly Row[] = [
  { protocol: 'v2 PASS IPv4', transport: 'unicast' },
  { protocol: 'v3 IPv4', transport: 'unicast' },
  { protocol: 'v3 IPv6', transport: 'unicast' },
  { protocol: 'v3 IPv4', transport: 'unicast', deaf: true },
  { protocol: 'v3 IPv4', transport: 'multicast', listed: true, deaf: true },
  { protocol: 'v3 IPv6', transport: 'multicast', listed: true },
  { protocol: 'v2 PASS IPv4', transport: 'multicast' },
]

const advertisementOf = (protocol: Protocol): string =>
  protocol === 'v3 IPv6' ? ADVERTISEMENT.ipv6 : ADVERTISEMENT.ipv4

const titleOf = ({ deaf, listed, protocol, transport }: Row): string =>
  `${protocol} ${transport}${listed ? ', peers listed' : ''}${deaf ? ', every question lost' : ''}`

async function heals(row: Row, context: TestContext): Promise<void> {
  const { deaf, protocol } = row
  const group = new Pair({ ...row, high: 'holdfast', low: 'keepalived', name: titleOf(row) })
  context.onTestFinished(() => group.lab.destroy())
  await group.listen()
  await Promise.all([group.start('high'), group.start('low')])
  await group.settlesOn('high', 'both started')
  await sleep(ANNOUNCED)
  const gate = new Gate(group.lab, group.high.host)
  for (let i = 0; i < RUNS; i++) {
    gate.shut()
    await group.splits()
    await group.moves('low', 'to answer the client while holdfast is cut off')
    await sleep(BATCH)
    const at = monotonicMs()
    gate.opensWith(advertisementOf(protocol), deaf ? PROBE : undefined)
    const sight = () => group.sight()
    await eventually('an advertisement to open the gate', () => gate.isOpen, { sight, within: 5_000, every: 50 })
    await group.isElected('high', `heal ${i + 1}`)
    await group.settlesOn('high', `heal ${i + 1}`)
    judgeTime('a client with its cached entry without an answer', group.silenceSince(at), SILENCE, 'docs/adr/0022')
    gate.remove()
    await sleep(Math.max(1_000, 2 * group.intervalMs))
  }
  await group.bothAreContent()
  await group.wireIsClean()
}

describeInterop('a cut that heals between the question and the advertisement', () => {
  const turns = new Turns(3)
  const nameOf = (row: Row) => `${titleOf(row)}: keepalived yields before anybody was asked, and the client is told`
  // The question of a unicast router has the address of its peer.
  for (const row of rows.filter(({ listed, transport }) => listed || transport === 'unicast'))
    turns.test(nameOf(row), (context) => heals(row, context))
  // The rows run one at a time. An unlisted router must be asked in the microseconds in which keepalived still answers.
  for (const row of rows.filter(({ listed, transport }) => !listed && transport === 'multicast'))
    test(nameOf(row), (context) => heals(row, context))
})
