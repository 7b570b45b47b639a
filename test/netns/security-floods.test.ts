/**
 * The rows of docs/security.md in which an attacker sends as fast as its machine can. The flood tests run alone,
 * because both CPUs are busy. All other attacks on a multicast group are in security.test.ts.
 */
import { expect, test } from 'vitest'
import { sleep } from '../../src/lab/wait.ts'
import { judgeTime } from '../judge/time.ts'
import { advertisementFrame } from '../support/forged-frame.ts'
import { describeNetns } from '../support/require.ts'
import { AttackedGroup, downMs, INVENTED } from './attacked-group.ts'
import { residentKilobytes } from './resident-memory.ts'

/** Duration in ms of a flood of up to 100 000 packets a second, as many as the machine can send. */
const FLOOD_MS = 2_000

describeNetns('a flood of as many forged packets as the machine can send', () => {
  test.each([
    [
      'S-18 competing Actives with invented sources',
      'advertisements_refused_total',
      'lower-priority',
      (source: string) => advertisementFrame({ source, priority: 50 }),
    ],
    [
      'S-19 packets with another TTL',
      'advertisements_discarded_total',
      'ttl',
      (source: string) => advertisementFrame({ source, priority: 255, ttl: 1 }),
    ],
  ] as const)('%s: counted or counted as lost, bounded, and over when they are', async (_, metric, reason, frame) => {
    const attacked = await AttackedGroup.settled()
    const flood = async () => {
      const attack = attacked.attacker.keepSending(INVENTED.map(frame), 100_000)
      await sleep(FLOOD_MS)
      const onslaught = await attack.stop()
      // By then the daemons have read their queues, which hold some ten thousand packets.
      await sleep(500)
      return onslaught
    }
    try {
      // A first burst causes allocations that stay. Such allocations of a burst are no leak.
      await flood()
      const before = await attacked.accounts()
      const memory = residentKilobytes(attacked.daemon(1))
      const { at, sent } = await flood()
      await attacked.calm('a flood')
      const after = await attacked.accounts()
      for (const name of ['r1', 'r2'] as const) {
        const counted = after[name].since(before[name], metric, { reason })
        const lost = after[name].since(before[name], 'receive_overflow_total')
        expect(counted + lost, `packets that ${name} counted, of ${sent}`).toBeGreaterThan(0.95 * sent)
        expect(after[name].lines - before[name].lines, `log lines of ${name}`).toBeLessThan(600)
      }
      expect(residentKilobytes(attacked.daemon(1)) - memory, 'growth of r1 in kB').toBeLessThan(24_000)
      judgeTime('ms without an answer', attacked.client(at).longestGap, downMs(2), 'docs/security.md')
    } finally {
      attacked.destroy()
    }
  })
})
