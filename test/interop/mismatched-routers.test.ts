/**
 * Mismatched routers: routers with our VRID but another version, password, address list or checksum, or with a hop
 * limit that ttlCheck refuses. VRRP then makes both routers Active. The two routers must name each other, so that an
 * operator does not search for a network fault.
 */
import { expect, test } from 'vitest'
import { statusCommand } from '../../src/cli/status/status.ts'
import type { DaemonKind, RouterPlan } from '../../src/lab/daemons/daemon.ts'
import { type Extra, Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { startDaemon } from '../../src/lab/daemons/start-daemon.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { eventually } from '../../src/lab/wait.ts'
import { labOfTest } from '../support/lab-of-test.ts'
import { describeFrr, describeInterop } from '../support/require.ts'
import { addIpv6, globalAddress, PASSWORD, VIPS6 } from './pair.ts'

type Part = Partial<Omit<RouterPlan, 'host'>>
type Case = {
  readonly title: string
  readonly neighbour: DaemonKind
  readonly both?: Part
  readonly ours?: Part
  readonly extra?: Extra
  readonly theirs?: Part
  /** Reason that holdfast gives for the other router. */
  readonly reason: string
  /** Text of the other router about holdfast; absent if it accepts holdfast. */
  readonly says?: RegExp
  readonly ipv6Unicast?: boolean
}

const TWO = { version: 2, intervalMs: 1_000 } as const
const MESSAGE_ONLY = { checksum: 'message-only' }
const CASES: readonly Case[] = [
  {
    title: 'version 2 at a version 3 router',
    neighbour: 'keepalived',
    theirs: TWO,
    reason: 'version',
    says: /wrong version\. Received 3 and expect 2/,
  },
  {
    title: 'version 3 at a version 2 router',
    neighbour: 'keepalived',
    ours: { ...TWO, password: PASSWORD },
    reason: 'version',
    says: /wrong version\. Received 2 and expect 3/,
  },
  {
    title: 'another password',
    neighbour: 'keepalived',
    both: TWO,
    ours: { password: PASSWORD },
    theirs: { password: PASSWORD.toUpperCase() },
    reason: 'auth-data',
    says: /received an invalid passwd!/,
  },
  {
    title: 'no password',
    neighbour: 'keepalived',
    both: TWO,
    ours: { password: PASSWORD },
    reason: 'auth-type',
    says: /received a 1 auth, expecting 0!/,
  },
  {
    title: 'other addresses, which 2.2.7 discards and we warn of',
    neighbour: 'keepalived',
    theirs: { addresses: [LAB_VIP, '10.77.0.101'] },
    reason: 'address-list-mismatch',
    says: /received an unexpected ip number count 1, expected 2!/,
  },
  {
    title: 'our checksum without the pseudo-header, which it refuses',
    neighbour: 'keepalived',
    extra: MESSAGE_ONLY,
    reason: 'checksum-form-differs',
    says: /Invalid VRRPv3 checksum/,
  },
  {
    title: 'hop limit 64 in IPv6 unicast, where ttlCheck is on',
    neighbour: 'keepalived',
    both: { priority: 150 },
    ours: { priority: 100 },
    extra: { ttlCheck: true },
    reason: 'ttl',
    ipv6Unicast: true,
  },
]
const FRR_CASES: readonly Case[] = [
  {
    title: 'version 2 at a version 3 router',
    neighbour: 'frr',
    theirs: TWO,
    reason: 'version',
    says: /Bad version 3/,
  },
  {
    title: 'our checksum without the pseudo-header, which it refuses',
    neighbour: 'frr',
    extra: MESSAGE_ONLY,
    reason: 'checksum-form-differs',
    says: /Bad VRRP checksum/,
  },
]

function play({ both, extra, ipv6Unicast = false, neighbour, ours, reason, says, theirs, title }: Case): void {
  test(`${neighbour} and holdfast name each other: ${title}`, async () => {
    const lab = labOfTest({ routers: 2 })
    const [us, them] = [lab.router(1), lab.router(2)]
    for (const host of ipv6Unicast ? lab.routers : []) addIpv6(host)
    const plan = (host: typeof us, peer: typeof us, priority: number, part: Part = {}): RouterPlan => ({
      ...{ host, priority, intervalMs: 100, address: LAB_VIP },
      ...(ipv6Unicast ? { address: VIPS6[1], addresses: VIPS6 } : {}),
      ...(ipv6Unicast ? { unicastPeers: [globalAddress(peer)], unicastSource: globalAddress(host) } : {}),
      ...both,
      ...part,
    })
    const holdfast = new Holdfast(lab, plan(us, them, 200, ours), extra)
    const other = startDaemon(neighbour, lab, plan(them, us, 100, theirs))
    await Promise.all([holdfast.ready(), other.ready()])

    const states = async () => ({ holdfast: await holdfast.state(), [neighbour]: await other.state() })
    const bothActive = async () => Object.values(await states()).every((state) => state === 'Active')
    await eventually('both to be Active, deaf to each other', bothActive, { sight: states, within: 15_000, every: 50 })

    const address = ipv6Unicast ? globalAddress(them) : them.address
    const mismatched = async () => (await holdfast.router()).mismatchedRouters
    const named = async () => (await mismatched()).some((one) => one.address === address && one.reason === reason)
    await eventually(`holdfast to name ${address} for ${reason}`, named, {
      sight: mismatched,
      within: 5_000,
      every: 50,
    })
    const { stdout } = await statusCommand(holdfast.socket, { json: false })
    expect(stdout, 'output of holdfast status').toContain(address)
    const logged = holdfast.records.filter(({ level, msg }) => level >= 40 && msg.includes(address))
    expect(logged, `warnings of holdfast that name ${address}`).not.toEqual([])
    for (const secret of [PASSWORD, PASSWORD.toUpperCase()])
      expect([stdout, ...holdfast.lines.map(({ text }) => text)].join('\n'), 'what we say').not.toContain(secret)

    if (says === undefined) return
    const complaint = () => other.lines.find(({ text }) => says.test(text))
    const last = () => other.lines.slice(-8).map(({ text }) => text)
    await eventually(`${neighbour} to say ${says}`, complaint, { sight: last, within: 5_000, every: 50 })
  })
}

describeInterop('mismatched routers beside keepalived', () => {
  for (const one of CASES) play(one)
})

describeFrr('mismatched routers beside FRR', () => {
  for (const one of FRR_CASES) play(one)
})
