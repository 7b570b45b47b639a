/**
 * Attacks on unicast routers, on version 2 with a password and on IPv6, and attacks from outside the segment by routed packets (rows of
 * docs/security.md).
 */

import { afterEach, expect, test } from 'vitest'
import { ip, macOf } from '../../src/lab/ip.ts'
import { LAB_VIP6 } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { judgeTime } from '../judge/time.ts'
import { Attacker } from '../support/attacker.ts'
import { advertisementFrame, arpReplyFrame, claimFrame, type Forgery } from '../support/forged-frame.ts'
import { describeNetns } from '../support/require.ts'
import {
  AttackedGroup,
  type AttackedGroupOptions,
  downMs,
  INTERVAL,
  MARGIN,
  UNLISTED,
  UNTOUCHED,
} from './attacked-group.ts'

let attacked: AttackedGroup | undefined
afterEach(() => {
  attacked?.destroy()
  attacked = undefined
})

async function build(options: AttackedGroupOptions): Promise<AttackedGroup> {
  attacked = await AttackedGroup.settled(options)
  return attacked
}

const R1 = '10.77.0.11'
const R2 = '10.77.0.12'
const LOST = { from: 'Active', to: 'Backup', reason: 'higherPriorityHeard' }
const PASSWORD = 'h0ldf4st'

/** Returns a frame of the forgery for each router, as a unicast peer would send it. */
function toEach(here: AttackedGroup, forgery: Forgery): readonly Uint8Array[] {
  return here.lab.routers.map((host) =>
    advertisementFrame({ ...forgery, destination: host.address, destinationMac: macOf(host) }),
  )
}

/** Asserts that r1 and r2 only count the frames under that reason. Each router receives `share` of the frames. */
async function countsForNothing(
  here: AttackedGroup,
  frames: readonly Uint8Array[],
  reason: string,
  share = 1,
): Promise<void> {
  const before = await here.accounts()
  const { at, sent } = await here.attacker.send(frames, 20 * frames.length, 20 * frames.length)
  await sleep(INTERVAL)
  const after = await here.accounts()
  for (const name of ['r1', 'r2'] as const) {
    const counted = after[name].since(before[name], 'advertisements_discarded_total', { reason })
    expect(counted, `packets that ${name} discarded as ${reason}`).toBe(sent * share)
  }
  expect(after.transitions(), 'transitions of both routers').toEqual(before.transitions())
  expect(here.client(at), 'answers to the client during the attack').toEqual(UNTOUCHED)
}

/** Asserts that r1 loses the address while the frames are sent. Returns the metrics before and after the attack. */
async function takesTheAddress(
  here: AttackedGroup,
  attacker: Attacker,
  frames: readonly Uint8Array[],
  intervalMs = INTERVAL,
) {
  const before = await here.accounts()
  const attack = attacker.keepSending(frames, (1_000 * frames.length) / intervalMs)
  await here.becomes(1, 'Backup')
  await sleep(2 * downMs(2, intervalMs))
  expect(here.lab.holders(here.address), 'holders of the address during the attack').toEqual([])
  const during = await here.account(1)
  await attack.stop()
  const stoppedAt = monotonicMs()
  await here.calm('priority 255')
  const back = (await here.answeredAgain(stoppedAt)) - stoppedAt
  judgeTime('ms until r1 answered again', back, downMs(1, intervalMs) + MARGIN, 'RFC 9568 §6.1')
  expect(here.client(attack.at).longestGap, 'ms in which the client got no answer').toBeGreaterThan(
    downMs(2, intervalMs),
  )
  const after = await here.accounts()
  expect(after.r1.since(before.r1, 'transitions_total', LOST), 'times that r1 lost the address').toBe(1)
  return { before, during, after }
}

describeNetns('an attacker on the segment of a unicast group', () => {
  test('S-21 gets the address with priority 255 although it is no peer, and is named', async () => {
    const here = await build({ unicast: true })
    const { during } = await takesTheAddress(here, here.attacker, toEach(here, { source: UNLISTED, priority: 255 }))
    expect(during.router.holder, 'holder in the status of r1').toMatchObject({ address: UNLISTED, priority: 255 })
    expect(during.metric('mismatched_routers', { reason: 'unlisted-peer' }), 'mismatched routers of r1').toBe(1)
    const warned = here
      .daemon(1)
      .records.filter(({ warning, peer }) => warning === 'unlisted-peer' && peer === UNLISTED)
    expect(warned, 'warnings of r1 about the attacker').not.toEqual([])
  })

  test('S-22 has no effect with onlyListedPeers, and S-23 gets the address in the name of a peer', async () => {
    const here = await build({ unicast: true, extra: { onlyListedPeers: true, ttlCheck: true } })
    await countsForNothing(here, toEach(here, { source: UNLISTED, priority: 255 }), 'unknown-peer', 1 / 2)
    const [toR1] = toEach(here, { source: R2, priority: 255 })
    if (toR1 === undefined) throw new Error('Cannot forge a packet for r1')
    const before = await here.accounts()
    const attack = here.attacker.keepSending([toR1], 1_000 / INTERVAL)
    // r2 receives none of these packets, and takes over as soon as r1 is silent. Only r1 loses.
    await here.becomes(1, 'Backup')
    await here.becomes(2, 'Active')
    await here.prober.answeredBy('r2', 5_000)
    expect((await here.account(1)).router.holder, 'holder in the status of r1').toMatchObject({ address: R2 })
    await attack.stop()
    await here.calm('priority 255 in the name of r2')
    const after = await here.accounts()
    expect(after.r1.since(before.r1, 'advertisements_discarded_total'), 'advertisements that r1 discarded').toBe(0)
    judgeTime('ms without an answer', here.client(attack.at).longestGap, downMs(2) + MARGIN, 'RFC 9568 §6.1')

    const [, toR2] = toEach(here, { source: R1, priority: 255 })
    if (toR2 === undefined) throw new Error('Cannot forge a packet for r2')
    const crossed = here.attacker.keepSending([toR1, toR2], 2_000 / INTERVAL)
    await here.becomes(1, 'Backup')
    await sleep(2 * downMs(2))
    expect(
      here.lab.holders(here.address),
      'holders while each router receives priority 255 in the name of the other',
    ).toEqual([])
    await crossed.stop()
    await here.calm('priority 255 in the name of each other')
  })

  test('S-24 has no effect with multicast, because the socket of a unicast router is in no group', async () => {
    const here = await build({ unicast: true })
    const before = await here.accounts()
    const { at } = await here.attacker.send([advertisementFrame({ source: UNLISTED, priority: 255 })], 20, 20)
    const after = await here.accounts()
    for (const name of ['r1', 'r2'] as const)
      expect(
        after[name].since(before[name], 'advertisements_discarded_total'),
        `advertisements that ${name} discarded`,
      ).toBe(0)
    expect(after.transitions(), 'transitions of both routers').toEqual(before.transitions())
    expect(here.client(at), 'answers to the client during the attack').toEqual(UNTOUCHED)
  })

  test("S-25 makes both routers hold the address repeatedly by a forged neighbour entry for the Active's peer", async () => {
    const here = await build({ unicast: true })
    const { attacker, lab } = here
    const r1 = lab.router(1)
    const before = await here.accounts()
    const misled = arpReplyFrame(R2, { mac: macOf(r1), address: R1 }, macOf(attacker.host))
    const attack = attacker.keepSending([misled], 200)
    const both = () => lab.holders(here.address).join() === 'r1,r2'
    await eventually('both to have the address', both, { sight: () => here.sight(), within: 5_000 })
    // All packets of r1 to r2 go to the attacker. Packets of r2 still arrive, as does its answer to the peer check.
    const alone = () => lab.holders(here.address).join() === 'r1'
    await eventually('the truth to come through', alone, { sight: () => here.sight(), within: 3_000 })
    await eventually('the lie to win once more', both, { sight: () => here.sight(), within: 3_000 })
    const during = await here.accounts()
    expect(during.r1.router.state, 'state of r1, the router with the higher priority').toBe('Active')
    const refused = { reason: 'lower-priority' }
    expect(
      during.r1.since(before.r1, 'advertisements_refused_total', refused),
      'advertisements of r2 that r1 refused',
    ).toBeGreaterThan(0)
    expect(
      during.r1.since(before.r1, 'competing_answers_total'),
      'answers of r2 to the questions of r1',
    ).toBeGreaterThan(0)
    await attack.stop()
    // Without this command, the forged entry stays until the kernel of r1 doubts it or r2 announces itself. An operator would remove the
    // entry.
    ip(r1, 'neigh flush dev eth0')
    await here.calm('a misled Active')
  })

  test("S-25 has no effect if the Active's neighbour entry for its peer is static", async () => {
    const here = await build({ unicast: true })
    const { attacker, lab } = here
    const [r1, r2] = [lab.router(1), lab.router(2)]
    for (const [host, peer] of [
      [r1, r2],
      [r2, r1],
    ] as const) {
      ip(host, `neigh replace ${peer.address} lladdr ${macOf(peer)} nud permanent dev eth0`)
    }
    const before = await here.accounts()
    const misled = arpReplyFrame(R2, { mac: macOf(r1), address: R1 }, macOf(attacker.host))
    const { at } = await attacker.send([misled], 200, 200)
    expect((await here.accounts()).transitions(), 'transitions of both routers').toEqual(before.transitions())
    expect(here.client(at), 'answers to the client during the attack').toEqual(UNTOUCHED)
  })
})

/** Adds a network behind a gateway of the segment, and a host with a raw socket in that network. */
async function outsider(here: AttackedGroup): Promise<{ attacker: Attacker; gatewayMac: string }> {
  const [gateway, outside] = [here.lab.host('gateway'), here.lab.host('outside')]
  ip(gateway, `link add out0 type veth peer name in0 netns ${outside.namespace}`)
  ip(outside, 'link set eth0 down')
  for (const [host, link, own] of [
    [gateway, 'out0', '192.0.2.1/24'],
    [outside, 'in0', '192.0.2.2/24'],
  ] as const) {
    ip(host, `address add ${own} dev ${link}`)
    ip(host, `link set ${link} up`)
  }
  checkSources(here, false)
  const attacker = new Attacker(here.lab, outside, 'in0')
  await attacker.ready()
  return { attacker, gatewayMac: macOf(gateway, 'out0') }
}

/** Switches reverse path filtering of the gateway (BCP 38) on or off. */
function checkSources(here: AttackedGroup, on: boolean): void {
  const set = (key: string, value: number) => `echo ${value} >/proc/sys/net/ipv4/conf/${key}`
  const lines = [
    set('all/rp_filter', Number(on)),
    set('out0/rp_filter', Number(on)),
    'echo 1 >/proc/sys/net/ipv4/ip_forward',
  ]
  here.lab.exec(here.lab.host('gateway'), ['sh', '-c', lines.join('; ')])
}

const HOSTS = ['gateway', 'outside']
const fromOutside = (gatewayMac: string, forgery: Forgery) =>
  [R1, R2].map((destination) => advertisementFrame({ ...forgery, destination, destinationMac: gatewayMac }))

describeNetns('an attacker that can only route packets to the segment', () => {
  test('S-26 gets the address of a unicast group without ttlCheck, unless the gateway checks source addresses', async () => {
    const here = await build({ unicast: true, hosts: HOSTS, extra: { onlyListedPeers: true } })
    const { attacker, gatewayMac } = await outsider(here)
    const asPeer = fromOutside(gatewayMac, { source: R2, priority: 255 }).slice(0, 1)
    const before = await here.accounts()
    const attack = attacker.keepSending(asPeer, 1_000 / INTERVAL)
    await here.becomes(1, 'Backup')
    expect((await here.account(1)).router.holder, 'holder in the status of r1').toMatchObject({ address: R2 })
    await attack.stop()
    await here.calm('priority 255 from another network')
    const after = await here.accounts()
    expect(after.r1.since(before.r1, 'transitions_total', LOST), 'times that r1 lost the address').toBe(1)

    checkSources(here, true)
    const { at } = await attacker.send(asPeer, 20, 20)
    const later = await here.accounts()
    expect(later.transitions(), 'transitions behind a gateway that checks sources').toEqual(after.transitions())
    expect(here.client(at), 'answers to the client during the attack').toEqual(UNTOUCHED)
  })

  test.each([
    ['S-27 to a unicast group with ttlCheck', { unicast: true, extra: { ttlCheck: true } }],
    ['S-28 to a multicast group', {}],
  ] as const)('%s: its TTL is 254, nothing', async (_, options) => {
    const here = await build({ ...options, hosts: HOSTS })
    const { attacker, gatewayMac } = await outsider(here)
    const before = await here.accounts()
    const { at, sent } = await attacker.send(fromOutside(gatewayMac, { source: UNLISTED, priority: 255 }), 40, 40)
    await sleep(INTERVAL)
    const after = await here.accounts()
    for (const name of ['r1', 'r2'] as const) {
      const counted = after[name].since(before[name], 'advertisements_discarded_total', { reason: 'ttl' })
      expect(counted, `packets that ${name} discarded because of the TTL`).toBe(sent / 2)
      expect(after[name].metric('mismatched_routers', { reason: 'ttl' }), `mismatched routers of ${name}`).toBe(1)
    }
    expect(after.transitions(), 'transitions of both routers').toEqual(before.transitions())
    expect(here.client(at), 'answers to the client during the attack').toEqual(UNTOUCHED)
  })
})

describeNetns('an attacker on the segment of a version 2 group with a password', () => {
  const SECOND = 1_000
  const two = (rest: Partial<Forgery>): Forgery => ({
    ...{ source: UNLISTED, priority: 255, version: 2, intervalMs: SECOND },
    ...rest,
  })

  test('S-29 has no effect without the right password and interval, and S-30 gets the address with the password that it reads on the wire', async () => {
    const here = await build({ plan: { version: 2, password: PASSWORD, intervalMs: SECOND } })
    await countsForNothing(here, [advertisementFrame(two({}))], 'auth-type')
    await countsForNothing(here, [advertisementFrame(two({ password: 'guessed1' }))], 'auth-data')
    const long = advertisementFrame(two({ password: PASSWORD, intervalMs: 255_000 }))
    await countsForNothing(here, [long], 'interval-mismatch')

    // The password is the last eight octets of every advertisement.
    const [heard] = await here.record(`src host ${R1}`, 1.2 * SECOND)
    const read = Buffer.from(heard?.subarray(-8) ?? []).toString('latin1')
    expect(read, 'password that the attacker reads on the segment').toBe(PASSWORD)
    const frames = [advertisementFrame(two({ password: read }))]
    await takesTheAddress(here, here.attacker, frames, SECOND)
  })
})

describeNetns('an attacker on the segment of an IPv6 group', () => {
  const OWN = 'fd00:77::12'
  const six = (rest: Partial<Forgery>) =>
    advertisementFrame({ source: 'fe80::66', priority: 255, addresses: [LAB_VIP6], ...rest })

  test("S-31 and S-32 have no effect with hop limit 254 or the Active's own source, and S-33 gets the address with priority 255", async () => {
    const here = await build({ address: LAB_VIP6 })
    await countsForNothing(here, [six({ ttl: 254 })], 'ttl')
    const before = await here.accounts()
    const own = before.r1.router.source ?? ''
    const { at, sent } = await here.attacker.send([six({ source: own })], 20, 20)
    await sleep(INTERVAL)
    const after = await here.accounts()
    const looped = after.r1.since(before.r1, 'advertisements_discarded_total', { reason: 'self-originated' })
    expect(looped, 'packets with its own source that r1 discarded').toBe(sent)
    expect(after.r1.lines, 'log lines of r1').toBe(before.r1.lines)
    expect(after.transitions(), 'transitions of both routers').toEqual(before.transitions())
    expect(here.client(at), 'answers to the client during the attack').toEqual(UNTOUCHED)

    const { during } = await takesTheAddress(here, here.attacker, [six({ source: OWN.replace('12', '66') })])
    expect(during.metric('mismatched_routers', { reason: 'address-list-mismatch' }), 'mismatched routers of r1').toBe(0)
    const warned = here.daemon(1).records.filter(({ warning }) => warning === 'source-not-link-local')
    expect(warned, 'warnings of r1 about the source of the attacker').not.toEqual([])
  })

  test('S-34 misleads the client by a Neighbor Advertisement until the next announcement, and no router sees it', async () => {
    const here = await build({ address: LAB_VIP6, extra: { announce: { at: ['0ms'], refresh: '1s' } } })
    const before = await here.accounts()
    const { at } = await here.attacker.send([claimFrame(LAB_VIP6)])
    await eventually('the client to be answered again', () => here.client(at).longestGap > 0, {
      sight: () => here.sight(),
      within: 8_000,
    })
    judgeTime('ms without an answer', here.client(at).longestGap, 1_000 + MARGIN, 'docs/profiles.md')
    const after = await here.accounts()
    expect(after.r1.since(before.r1, 'competing_answers_total'), 'competing answers that r1 received').toBe(0)
    expect(after.transitions(), 'transitions of both routers').toEqual(before.transitions())
  })
})
