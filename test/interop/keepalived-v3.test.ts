/**
 * holdfast and Debian's keepalived in one VRRPv3 group, as during a migration node by node: whoever has the higher
 * priority is Active, each takes over from the other and gives back, and keepalived finds nothing to complain about.
 */
import { afterEach, expect, test } from 'vitest'
import { Keepalived } from '../support/keepalived.ts'
import { describeInterop } from '../support/require.ts'
import { sleep } from '../support/wait.ts'
import { Pair, type Transport } from './pair.ts'

const TRANSPORTS: readonly Transport[] = ['multicast', 'unicast']
/** keepalived in holdfast's place: proves the harness itself. */
const ours = process.env.INTEROP_DRY_RUN === '1' ? 'keepalived' : 'holdfast'
const MATCHES = [
  { high: ours, low: 'keepalived' },
  { high: 'keepalived', low: ours },
] as const

/** Both orders of first words after a heal come up: whoever speaks second may not know that there was a rival. */
const PHASES = [0, 13, 29, 47, 61, 83]
const ANNOUNCED = 5_500
/** keepalived alone leaves a client without an answer for 3 s and more in every other heal. */
const SILENCE = 1_000

let pair: Pair | undefined
afterEach(() => {
  pair?.lab.destroy()
  pair = undefined
})

async function open(...parts: ConstructorParameters<typeof Pair>): Promise<Pair> {
  pair = new Pair(...parts)
  await pair.listen()
  return pair
}

async function checkNeighbours(group: Pair): Promise<void> {
  for (const daemon of [group.daemon('high'), group.daemon('low')]) {
    if (!(daemon instanceof Keepalived)) continue
    if (daemon.running) await group.neighbourIsContent(daemon)
    else group.neighbourIsQuiet(daemon)
  }
}

describeInterop('VRRPv3 beside keepalived', () => {
  const cases = TRANSPORTS.flatMap((transport) => MATCHES.map((match) => ({ transport, ...match })))

  test.each(cases)('$transport: $high is elected before $low, which never speaks', async ({ transport, high, low }) => {
    const group = await open(transport, high, low)
    await group.start('high')
    await group.settlesOn('high', 'it started alone')
    await group.start('low')
    await sleep(1_000)
    await group.settlesOn('high', `${low} joined`)
    await checkNeighbours(group)
    const advertisements = await group.wireIsClean()
    expect(group.from('low', advertisements), `advertisements of ${low} beside a better router`).toEqual([])
  })

  test.each(cases)('$transport: $high comes second and preempts $low', async ({ transport, high, low }) => {
    const group = await open(transport, high, low)
    await group.start('low')
    await group.settlesOn('low', 'it started alone')
    await group.start('high')
    await group.settlesOn('high', 'it joined')
    await sleep(500)
    await group.settlesOn('high', 'it preempted')
    await checkNeighbours(group)
    const advertisements = await group.wireIsClean()
    const last = group.from('low', advertisements).at(-1)
    const first = group.from('high', advertisements)[0]
    // The loser may send one last advertisement when its addresses are off (design.md §3), no more.
    const late = group.from('low', advertisements).filter(({ at }) => Number(at) > Number(first?.at))
    expect(
      late.length,
      `advertisements of ${low} after the first of ${high}; last at ${last?.at}, first at ${first?.at}`,
    ).toBeLessThanOrEqual(2)
  })

  test.each(cases)(
    '$transport: $low takes over from a silent $high and gives way after the cut',
    async ({ transport, high, low }) => {
      const group = await open(transport, high, low)
      await Promise.all([group.start('low'), group.start('high')])
      await group.settlesOn('high', 'both started')
      // The announcements that follow a takeover would hide a stale neighbour entry.
      await sleep(ANNOUNCED)
      for (const phase of PHASES) {
        group.lab.cut(group.high.host)
        await group.splits()
        await sleep(group.splitMs + phase)
        const at = group.lab.heal(group.high.host)
        await group.settlesOn('high', `a cut of ${(group.splitMs + phase).toFixed(0)} ms was healed`)
        expect(
          group.silenceSince(at),
          'ms in which the client, with its cached neighbour entry, got no answer',
        ).toBeLessThan(SILENCE)
        await sleep(200)
      }
      await checkNeighbours(group)
      await group.wireIsClean()
    },
  )

  test.each(cases)('$transport: $high leaves, $low follows, $high comes back', async ({ transport, high, low }) => {
    const group = await open(transport, high, low)
    await group.start('high')
    await group.settlesOn('high', 'it started alone')
    await group.start('low')
    const leaver = group.daemon('high')
    await checkNeighbours(group)
    leaver.terminate()
    await group.settlesOn('low', `${high} got SIGTERM`)
    expect(await leaver.exited, `the end of ${high} after SIGTERM`).toMatchObject({ code: 0, signal: null })
    await checkNeighbours(group)
    await group.start('high')
    await group.settlesOn('high', 'it was started again')
    await checkNeighbours(group)

    const advertisements = await group.wireIsClean()
    const zero = group.from('high', advertisements).find(({ priority }) => priority === '0')
    const successor = group.from('low', advertisements)[0]
    expect(zero, `an advertisement of priority 0 from ${high}`).toBeDefined()
    expect(Number(zero?.at), `priority 0 of ${high} before the first advertisement of ${low}`).toBeLessThan(
      Number(successor?.at),
    )
  })
})
