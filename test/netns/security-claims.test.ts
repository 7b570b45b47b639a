/**
 * Attacks by ARP claims for the virtual address on an Active, on a router that leaves, and on a router that returns (rows of
 * docs/security.md). No VRRP router can keep clients from believing a claim. The tests show the duration of the effect, and that
 * holdfast does not extend it and counts the claims that it receives.
 */

import { afterEach, expect, test } from 'vitest'
import { skewTimeMs } from '../../src/lab/daemons/daemon.ts'
import { ip, macOf } from '../../src/lab/ip.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { startResponder } from '../../src/lab/watch/probe.ts'
import { judgeTime } from '../judge/time.ts'
import { advertisementFrame, arpReplyFrame, claimFrame, FORGED_MAC } from '../support/forged-frame.ts'
import { describeNetns } from '../support/require.ts'
import { AttackedGroup, downMs, INTERVAL, MARGIN, PRIORITIES, UNLISTED, UNTOUCHED } from './attacked-group.ts'
import { residentKilobytes } from './resident-memory.ts'

let attacked: AttackedGroup | undefined
afterEach(() => {
  attacked?.destroy()
  attacked = undefined
})

const REFRESH = 1_000
/** Time in ms between two announcements against a competing Active that answers (docs/adr/0007). */
const WON_BACK = 1_000

async function build(...options: Parameters<typeof AttackedGroup.settled>): Promise<AttackedGroup> {
  attacked = await AttackedGroup.settled(...options)
  return attacked
}

/** Builds ARP replies to r1 alone. No other host is misled, so the only effect is the effect on the election. */
function repliesToR1(at: AttackedGroup, froms: readonly string[] = [FORGED_MAC]): readonly Uint8Array[] {
  const host = at.lab.router(1)
  const to = { mac: macOf(host), address: host.address }
  return froms.map((from) => arpReplyFrame(LAB_VIP, to, from))
}

const inventedMac = (i: number) =>
  `02:00:00:00:${[i >> 8, i & 255].map((n) => n.toString(16).padStart(2, '0')).join(':')}`

describeNetns('an attacker that claims the address', () => {
  test('S-12 and answers questions misleads the client while the claims go on, and for at most a second afterwards', async () => {
    const here = await build()
    const { attacker, lab, prober } = here
    const { host } = attacker
    const before = await here.accounts()
    startResponder(lab, host)
    ip(host, `address add ${LAB_VIP}/32 dev eth0`)
    const attack = attacker.keepSending([claimFrame(LAB_VIP, macOf(host))], 50)
    const answers = (name: string) => prober.answeredBy(name, 5_000)
    await answers('attacker')
    await sleep(1_500)
    await attack.stop()
    const { at } = await attacker.send([claimFrame(LAB_VIP, macOf(host))])
    await answers('r1')
    const wonBack = (prober.holders.at(-1)?.at ?? Number.NaN) - at
    judgeTime('ms from his last word until r1 answered', wonBack, WON_BACK + INTERVAL + MARGIN, 'docs/profiles.md')
    const duplicate = async () => (await here.account(1)).metric('duplicate_holder', { address: LAB_VIP }) === 1
    await eventually('r1 to call it a duplicate holder', duplicate, { sight: () => here.sight(), within: 10_000 })
    const after = await here.accounts()
    expect(
      after.r1.since(before.r1, 'competing_answers_total'),
      'answers of the attacker that r1 heard',
    ).toBeGreaterThan(0)
    const told = here.told(1, before.r1)
    expect(told, 'log lines of r1').toContainEqual(`vip: another host, ${macOf(host)}, answers for ${LAB_VIP} as well`)
    expect(after.transitions(), 'transitions of both routers').toEqual(before.transitions())
  })

  test('S-13 once and answers no question is seen by no router, and misleads the client until the next announcement', async () => {
    const here = await build({ extra: { announce: { at: ['0ms'], refresh: `${REFRESH}ms` } } })
    const before = await here.accounts()
    const { at } = await here.attacker.send([claimFrame(LAB_VIP)])
    await eventually('the client to be answered again', () => here.client(at).longestGap > 0, {
      sight: () => here.sight(),
      within: 5_000,
    })
    judgeTime('ms without an answer', here.client(at).longestGap, REFRESH + MARGIN, 'docs/security.md')
    const after = await here.accounts()
    expect(after.r1.since(before.r1, 'competing_answers_total'), 'competing answers that r1 received').toBe(0)
    expect(after.transitions(), 'transitions of both routers').toEqual(before.transitions())
  })

  test('S-14 in 20 000 answers from invented MACs is counted, costs bounded memory, and has no effect on the client', async () => {
    const here = await build()
    const before = await here.accounts()
    const memory = residentKilobytes(here.daemon(1))
    const invented = Array.from({ length: 1_000 }, (_, i) => inventedMac(i))
    const { at, ms } = await here.attacker.send(repliesToR1(here, invented), 20_000, 10_000)
    await sleep(INTERVAL)
    const after = await here.accounts()
    // Frames beyond the queue of the packet socket are lost without a count.
    expect(after.r1.since(before.r1, 'competing_answers_total'), 'competing answers that r1 received').toBeGreaterThan(
      1_000,
    )
    // The check on the next line comes first. A change of state would lift the limits of the log, and a node without
    // CPU changes its state.
    expect(after.transitions(), 'transitions of both routers').toEqual(before.transitions())
    expect(after.r1.lines - before.r1.lines, 'log lines of r1').toBeLessThan(300)
    const announced = after.r1.since(before.r1, 'announcements_sent_total')
    expect(announced, `frames that r1 announced in ${ms} ms`).toBeLessThan(20 + (8 * ms) / WON_BACK)
    expect(residentKilobytes(here.daemon(1)) - memory, 'growth of r1 in kB').toBeLessThan(24_000)
    expect(here.client(at), 'answers to the client during the attack').toEqual(UNTOUCHED)
  })

  // Either claim makes the leaving router act as if its successor had taken over. The Backup first waits for its Skew_Time.
  test.each([
    ['S-15 by ARP', repliesToR1],
    ['S-16 by an advertisement of priority 1', () => [advertisementFrame({ source: UNLISTED, priority: 1 })]],
  ])(
    '%s while the Active leaves: it goes early, and the client waits for the Skew_Time of the Backup',
    async (_, frames) => {
      const here = await build()
      const attack = here.attacker.keepSending(frames(here), 500)
      await sleep(50)
      const at = here.daemon(1).terminate()
      await here.becomes(2, 'Active')
      await attack.stop()
      await here.prober.answeredBy('r2', 5_000)
      const gap = here.client(at).longestGap
      judgeTime('ms without an answer', gap, skewTimeMs(PRIORITIES[1], INTERVAL) + MARGIN, 'RFC 9568 §6.4.2')
      expect(gap, 'ms in which the client got no answer').toBeGreaterThan(0)
      const took = { from: 'Backup', to: 'Active', reason: 'activeReleased' }
      expect((await here.account(2)).metric('transitions_total', took), 'takeovers of r2').toBe(1)
    },
  )

  test('S-20 while a lone Active returns makes it wait for an Active_Down_Interval instead of 20 ms', async () => {
    const here = await build({ priorities: [200] })
    const attack = here.attacker.keepSending(repliesToR1(here), 500)
    here.daemon(1).freeze()
    await sleep(10 * INTERVAL)
    const at = here.daemon(1).thaw()
    const isBack = () => here.daemon(1).records.find((record) => record.at > at && record.to === 'Active')
    const back = await eventually('r1 to be Active again', isBack, { sight: () => here.sight(), within: 5_000 })
    await attack.stop()
    judgeTime('ms from its waking up', back.at - at, downMs(1) + 20 + 2 * MARGIN, 'RFC 9568 §6.1')
    await here.calm('the claims')
    const retreated = { from: 'Returning', to: 'Backup', reason: 'addressClaimed' }
    expect((await here.account(1)).metric('transitions_total', retreated), 'times it did not dare').toBe(1)
  })
})
