/**
 * Attacks on unicast routers, on version 2 with a password and on IPv6, and attacks from outside of the segment by routed packets
 * (rows of docs/security.md).
 */

import { afterEach, expect, test } from 'vitest'
import { ip, macOf } from '../../src/lab/ip.ts'
import { LAB_VIP6 } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { judgeTime } from '../judge/time.ts'
import { Attacker } from '../support/attacker.ts'
import { advertisementFrame, arpReplyFrame, claimFrame, type Forgery } from '../support/forged-frame.ts'
import { describeNetns } from '../support/require.ts'
import { downMs, INTERVAL, MARGIN, Siege, type SiegeOptions, STRANGER, UNTOUCHED } from './siege.ts'

let siege: Siege | undefined
afterEach(() => {
  siege?.lift()
  siege = undefined
})

async function lay(options: SiegeOptions): Promise<Siege> {
  siege = await Siege.laid(options)
  return siege
}

const R1 = '10.77.0.11'
const R2 = '10.77.0.12'
const LOST = { from: 'Active', to: 'Backup', reason: 'higherPriorityHeard' }
const PASSWORD = 'h0ldf4st'

/** Returns one copy for each router, as a unicast peer would send it. */
function toEach(here: Siege, forgery: Forgery): readonly Uint8Array[] {
  return here.lab.routers.map((host) =>
    advertisementFrame({ ...forgery, destination: host.address, destinationMac: macOf(host) }),
  )
}

/**
 * Asserts that the attack is only counted under that reason, by r1 and r2. Each of them receives that share of it.
 */
async function countsForNothing(here: Siege, frames: readonly Uint8Array[], reason: string, share = 1): Promise<void> {
  const before = await here.accounts()
  const { at, sent } = await here.attacker.send(frames, 20 * frames.length, 20 * frames.length)
  await sleep(INTERVAL)
  const after = await here.accounts()
  for (const name of ['r1', 'r2'] as const) {
    const counted = after[name].since(before[name], 'advertisements_discarded_total', { reason })
    expect(counted, `counted as ${reason} by ${name}`).toBe(sent * share)
  }
  expect(after.transitions(), 'transitions').toEqual(before.transitions())
  expect(here.client(at), 'what the client saw').toEqual(UNTOUCHED)
}

/** Asserts that r1 loses to it while it is sent; returns the metrics of before and after. */
async function takesTheAddress(here: Siege, attacker: Attacker, frames: readonly Uint8Array[], intervalMs = INTERVAL) {
  const before = await here.accounts()
  const attack = attacker.keepSending(frames, (1_000 * frames.length) / intervalMs)
  await here.becomes(1, 'Backup')
  await sleep(2 * downMs(2, intervalMs))
  expect(here.lab.holders(here.address), 'who has the address meanwhile').toEqual([])
  const during = await here.account(1)
  await attack.stop()
  const stoppedAt = monotonicMs()
  await here.calm('priority 255')
  const back = (await here.answeredAgain(stoppedAt)) - stoppedAt
  judgeTime('ms until r1 answered again', back, downMs(1, intervalMs) + MARGIN, 'RFC 9568 §6.1')
  expect(here.client(attack.at).longestGap, 'ms without an answer').toBeGreaterThan(downMs(2, intervalMs))
  const after = await here.accounts()
  expect(after.r1.since(before.r1, 'transitions_total', LOST), 'times that r1 lost').toBe(1)
  return { before, during, after }
}

describeNetns('an attacker on the segment of a unicast group', () => {
  test('S-21 priority 255 of a router that is no peer counts, and the router is named', async () => {
    const here = await lay({ unicast: true })
    const { during } = await takesTheAddress(here, here.attacker, toEach(here, { source: STRANGER, priority: 255 }))
    expect(during.router.holder, 'holder by the account of r1').toMatchObject({ address: STRANGER, priority: 255 })
    expect(during.metric('mismatched_routers', { reason: 'unlisted-peer' }), 'strangers of r1').toBe(1)
    const warned = here
      .daemon(1)
      .records.filter(({ warning, peer }) => warning === 'unlisted-peer' && peer === STRANGER)
    expect(warned, 'warnings of r1').not.toEqual([])
  })

  test('S-22 the same with onlyListedPeers: nothing; S-23 in the name of a peer: it counts', async () => {
    const here = await lay({ unicast: true, extra: { onlyListedPeers: true, ttlCheck: true } })
    await countsForNothing(here, toEach(here, { source: STRANGER, priority: 255 }), 'unknown-peer', 1 / 2)
    const [toR1] = toEach(here, { source: R2, priority: 255 })
    if (toR1 === undefined) throw new Error('Cannot forge a packet for r1')
    const before = await here.accounts()
    const attack = here.attacker.keepSending([toR1], 1_000 / INTERVAL)
    // r2 receives nothing of it and takes over as soon as r1 is silent: only r1 loses.
    await here.becomes(1, 'Backup')
    await here.becomes(2, 'Active')
    await here.prober.answeredBy('r2', 5_000)
    expect((await here.account(1)).router.holder, 'holder by the account of r1').toMatchObject({ address: R2 })
    await attack.stop()
    await here.calm('priority 255 in the name of r2')
    const after = await here.accounts()
    expect(after.r1.since(before.r1, 'advertisements_discarded_total'), 'discarded by r1').toBe(0)
    judgeTime('ms without an answer', here.client(attack.at).longestGap, downMs(2) + MARGIN, 'RFC 9568 §6.1')

    const [, toR2] = toEach(here, { source: R1, priority: 255 })
    if (toR2 === undefined) throw new Error('Cannot forge a packet for r2')
    const crossed = here.attacker.keepSending([toR1, toR2], 2_000 / INTERVAL)
    await here.becomes(1, 'Backup')
    await sleep(2 * downMs(2))
    expect(here.lab.holders(here.address), 'who has the address when each hears of the other').toEqual([])
    await crossed.stop()
    await here.calm('priority 255 in the name of each other')
  })

  test('S-24 multicast to a unicast router: its socket is in no group and never sees it', async () => {
    const here = await lay({ unicast: true })
    const before = await here.accounts()
    const { at } = await here.attacker.send([advertisementFrame({ source: STRANGER, priority: 255 })], 20, 20)
    const after = await here.accounts()
    for (const name of ['r1', 'r2'] as const)
      expect(after[name].since(before[name], 'advertisements_discarded_total'), `discarded by ${name}`).toBe(0)
    expect(after.transitions(), 'transitions').toEqual(before.transitions())
    expect(here.client(at), 'what the client saw').toEqual(UNTOUCHED)
  })

  test('S-25 a forged neighbour entry for the peer of the Active makes both routers hold the address repeatedly', async () => {
    const here = await lay({ unicast: true })
    const { attacker, lab } = here
    const r1 = lab.router(1)
    const before = await here.accounts()
    const misled = arpReplyFrame(R2, { mac: macOf(r1), address: R1 }, macOf(attacker.host))
    const attack = attacker.keepSending([misled], 200)
    const both = () => lab.holders(here.address).join() === 'r1,r2'
    await eventually('both to have the address', both, { sight: () => here.sight(), within: 5_000 })
    // All packets of r1 to r2 go to the attacker. Packets of r2 still arrive, and so does its answer to the peer
    // check.
    const alone = () => lab.holders(here.address).join() === 'r1'
    await eventually('the truth to come through', alone, { sight: () => here.sight(), within: 3_000 })
    await eventually('the lie to win once more', both, { sight: () => here.sight(), within: 3_000 })
    const during = await here.accounts()
    expect(during.r1.router.state, 'the better one').toBe('Active')
    const refused = { reason: 'lower-priority' }
    expect(during.r1.since(before.r1, 'advertisements_refused_total', refused), 'r2, as r1 heard it').toBeGreaterThan(0)
    expect(during.r1.since(before.r1, 'competing_answers_total'), 'r2, as r1 asked').toBeGreaterThan(0)
    await attack.stop()
    // Until the kernel of r1 notices, or r2 announces itself; an operator would remove the entry.
    ip(r1, 'neigh flush dev eth0')
    await here.calm('a misled Active')
  })

  test('S-25 has no effect if the neighbour entry of the peer is static', async () => {
    const here = await lay({ unicast: true })
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
    expect((await here.accounts()).transitions(), 'transitions').toEqual(before.transitions())
    expect(here.client(at), 'what the client saw').toEqual(UNTOUCHED)
  })
})

/** Adds a network behind a gateway of the segment, and a host in it with a raw socket. */
async function outsider(here: Siege): Promise<{ attacker: Attacker; gatewayMac: string }> {
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

/** Sets reverse path filtering of the gateway (BCP 38). */
function checkSources(here: Siege, on: boolean): void {
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
  test('S-26 to a unicast group without ttlCheck: as on the segment, unless the gateway checks sources', async () => {
    const here = await lay({ unicast: true, hosts: HOSTS, extra: { onlyListedPeers: true } })
    const { attacker, gatewayMac } = await outsider(here)
    const asPeer = fromOutside(gatewayMac, { source: R2, priority: 255 }).slice(0, 1)
    const before = await here.accounts()
    const attack = attacker.keepSending(asPeer, 1_000 / INTERVAL)
    await here.becomes(1, 'Backup')
    expect((await here.account(1)).router.holder, 'holder by the account of r1').toMatchObject({ address: R2 })
    await attack.stop()
    await here.calm('priority 255 from another network')
    const after = await here.accounts()
    expect(after.r1.since(before.r1, 'transitions_total', LOST), 'times that r1 lost').toBe(1)

    checkSources(here, true)
    const { at } = await attacker.send(asPeer, 20, 20)
    const later = await here.accounts()
    expect(later.transitions(), 'transitions behind a gateway that checks sources').toEqual(after.transitions())
    expect(here.client(at), 'what the client saw').toEqual(UNTOUCHED)
  })

  test.each([
    ['S-27 to a unicast group with ttlCheck', { unicast: true, extra: { ttlCheck: true } }],
    ['S-28 to a multicast group', {}],
  ] as const)('%s: its TTL is 254, nothing', async (_, options) => {
    const here = await lay({ ...options, hosts: HOSTS })
    const { attacker, gatewayMac } = await outsider(here)
    const before = await here.accounts()
    const { at, sent } = await attacker.send(fromOutside(gatewayMac, { source: STRANGER, priority: 255 }), 40, 40)
    await sleep(INTERVAL)
    const after = await here.accounts()
    for (const name of ['r1', 'r2'] as const) {
      const counted = after[name].since(before[name], 'advertisements_discarded_total', { reason: 'ttl' })
      expect(counted, `counted by ${name}`).toBe(sent / 2)
      expect(after[name].metric('mismatched_routers', { reason: 'ttl' }), `strangers of ${name}`).toBe(1)
    }
    expect(after.transitions(), 'transitions').toEqual(before.transitions())
    expect(here.client(at), 'what the client saw').toEqual(UNTOUCHED)
  })
})

describeNetns('an attacker on the segment of a version 2 group with a password', () => {
  const SECOND = 1_000
  const two = (rest: Partial<Forgery>): Forgery => ({
    ...{ source: STRANGER, priority: 255, version: 2, intervalMs: SECOND },
    ...rest,
  })

  test('S-29 without it, with another one, or at another interval: nothing; S-30 with it, which is on the wire: it counts', async () => {
    const here = await lay({ plan: { version: 2, password: PASSWORD, intervalMs: SECOND } })
    await countsForNothing(here, [advertisementFrame(two({}))], 'auth-type')
    await countsForNothing(here, [advertisementFrame(two({ password: 'guessed1' }))], 'auth-data')
    const long = advertisementFrame(two({ password: PASSWORD, intervalMs: 255_000 }))
    await countsForNothing(here, [long], 'interval-mismatch')

    // Eight octets at the end of every advertisement.
    const [heard] = await here.record(`src host ${R1}`, 1.2 * SECOND)
    const read = Buffer.from(heard?.subarray(-8) ?? []).toString('latin1')
    expect(read, 'what anybody on the segment reads').toBe(PASSWORD)
    const frames = [advertisementFrame(two({ password: read }))]
    await takesTheAddress(here, here.attacker, frames, SECOND)
  })
})

describeNetns('an attacker on the segment of an IPv6 group', () => {
  const OWN = 'fd00:77::12'
  const six = (rest: Partial<Forgery>) =>
    advertisementFrame({ source: 'fe80::66', priority: 255, addresses: [LAB_VIP6], ...rest })

  test('S-31 S-32 S-33 hop limit 254, our own source: nothing; priority 255: it counts', async () => {
    const here = await lay({ address: LAB_VIP6 })
    await countsForNothing(here, [six({ ttl: 254 })], 'ttl')
    const before = await here.accounts()
    const own = before.r1.router.source ?? ''
    const { at, sent } = await here.attacker.send([six({ source: own })], 20, 20)
    await sleep(INTERVAL)
    const after = await here.accounts()
    const looped = after.r1.since(before.r1, 'advertisements_discarded_total', { reason: 'self-originated' })
    expect(looped, 'counted by r1').toBe(sent)
    expect(after.r1.lines, 'log lines of r1').toBe(before.r1.lines)
    expect(after.transitions(), 'transitions').toEqual(before.transitions())
    expect(here.client(at), 'what the client saw').toEqual(UNTOUCHED)

    const { during } = await takesTheAddress(here, here.attacker, [six({ source: OWN.replace('12', '66') })])
    expect(during.metric('mismatched_routers', { reason: 'address-list-mismatch' }), 'strangers of r1').toBe(0)
    const warned = here.daemon(1).records.filter(({ warning }) => warning === 'source-not-link-local')
    expect(warned, 'warnings of r1').not.toEqual([])
  })

  test('S-34 a Neighbor Advertisement for the address is seen by no router, and the client is misled until the next announcement', async () => {
    const here = await lay({ address: LAB_VIP6, extra: { announce: { at: ['0ms'], refresh: '1s' } } })
    const before = await here.accounts()
    const { at } = await here.attacker.send([claimFrame(LAB_VIP6)])
    await eventually('the client to be answered again', () => here.client(at).longestGap > 0, {
      sight: () => here.sight(),
      within: 8_000,
    })
    judgeTime('ms without an answer', here.client(at).longestGap, 1_000 + MARGIN, 'docs/profiles.md')
    const after = await here.accounts()
    expect(after.r1.since(before.r1, 'competing_answers_total'), 'answers that r1 heard').toBe(0)
    expect(after.transitions(), 'transitions').toEqual(before.transitions())
  })
})
