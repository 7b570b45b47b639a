/**
 * The nodes of a control plane reboot one after the other (scripts/cluster.sh). Each node yields first; then all its processes get
 * SIGTERM, and it starts again. Two clients on the LAN observe. HOLDFAST_REBOOTS=20 makes twenty rounds; without this variable the
 * test is skipped.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { judge } from '../judge/time.ts'
import { CONTROL_PLANE, type Loss, RealCluster } from './real-cluster.ts'
import { describeCluster } from './require-cluster.ts'

const MINUTES = 60_000
const WAIT = { within: 4 * MINUTES, every: 500 }
const ROUNDS = Number(process.env.HOLDFAST_REBOOTS ?? 0)
/** Longest time in ms from a move to the moment when the engines of the other nodes name the new holder. */
const REPORTED = 1_000

const describeReboots = ROUNDS > 0 ? describeCluster : describe.skip

describeReboots('control plane nodes that reboot', () => {
  let cluster: RealCluster
  const seen: (readonly [string, Loss, number])[] = []

  beforeAll(() => {
    cluster = new RealCluster()
  }, 7 * MINUTES)
  afterAll(async () => {
    const lines = seen.map(
      ([what, { silence, requests, failed, inFlight, moves }, reported]) =>
        `| ${what} | ${moves.length} | ${silence} | ${reported} | ${failed - inFlight} of ${requests} | ${inFlight} |`,
    )
    process.stdout.write(
      `| node | moves | longest silence, ms | status right after, ms | new requests lost | requests in flight lost |\n${lines.join('\n')}\n`,
    )
    await cluster?.destroy()
  }, MINUTES)

  const othersThan = (node: string) => CONTROL_PLANE.filter((name) => name !== node)
  const answers = (node: string) =>
    eventually(
      `${node} to be ready`,
      () => cluster.isApiReady(node) && cluster.pod('kube-system', `holdfast-${node}`)?.ready,
      { sight: () => cluster.kubectl('get', 'pods', '-A').text, ...WAIT },
    )

  /** Makes the holder yield. Returns the ms until the engines of the other nodes named the new holder. */
  async function yielded(holder: string): Promise<number> {
    const isYielding = cluster.yield(holder)
    const move = await eventually(`another holder than ${holder}`, () => cluster.prober.movedFrom(holder, since), {
      sight: () => cluster.prober.holders.slice(-3),
      ...{ ...WAIT, every: 5 },
    })
    await eventually(
      'the engines to name the new holder',
      () => othersThan(holder).every((node) => cluster.reportedBy(node) === `10.77.1.1${move.name.slice(1)}`),
      { sight: () => CONTROL_PLANE.map((node) => cluster.reportedBy(node)), ...WAIT, every: 20 },
    )
    const ms = monotonicMs() - move.at
    await isYielding
    return ms
  }
  let since = 0

  test(
    'no new request is lost, and each engine names the new holder after each move',
    async () => {
      const late: string[] = []
      for (let round = 1; round <= ROUNDS; round++)
        for (const rest = new Set(CONTROL_PLANE); rest.size > 0; ) {
          const holder = await cluster.holder()
          // The holder first, as long as it has not rebooted.
          const node = rest.has(holder) ? holder : ([...rest][0] ?? holder)
          rest.delete(node)
          await sleep(1_000)
          since = monotonicMs()
          const reported = holder === node ? await yielded(node) : 0
          cluster.shutdown(node)
          cluster.start(node)
          await answers(node)
          const loss = await cluster.lossSince(since)
          seen.push([`${node}${holder === node ? ', holder' : ''}`, loss, Math.round(reported)])
          process.stdout.write(`${node} of ${holder}: ${JSON.stringify(loss)}\n`)
          late.push(...loss.lost.map((request) => `${node} rebooted: ${request}`))
          if (reported > REPORTED) late.push(`${node} yielded: ${reported} ms until the engines named the new holder`)
          expect(cluster.holders()).toHaveLength(1)
        }
      judge('reboots (docs/static-pod.md)', { late })
    },
    ROUNDS * 15 * MINUTES,
  )
})
