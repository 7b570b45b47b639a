/**
 * The traffic of a LAN without changes: tshark counts the frames of an Active and its Backup for 10 s. The page docs/lan-traffic.md has
 * the same figures, and test/unit/daemon/quiet-lan.test.ts compares the page with the model.
 */
import { expect, type TestContext } from 'vitest'
import { run } from '../../src/lab/command.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { LEASED } from '../../src/lab/daemons/holdfast-process.ts'
import { createLab, type Host, LAB_VIP } from '../../src/lab/lab.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { Capture, type Frame } from '../../src/lab/watch/capture.ts'
import { KINDS, type Kind, QUIET, type Setup } from '../support/quiet-lan.ts'
import { describeNetns } from '../support/require.ts'
import { Turns } from '../support/turns.ts'

/** Capture filter that leaves out the kernel's own packets (router solicitations, group reports). */
const WATCHED = 'proto 112 or ip6 proto 112 or arp or (icmp6 and (ip6[40] = 135 or ip6[40] = 136))'
/** The takeover is announced once, without the repetitions of the default, and the count begins ANNOUNCED ms later. */
const ANNOUNCE = { announce: { at: ['0ms'] } }
const ANNOUNCED = 1_000
const COUNTED = 10_000
/** With the guardian's clock, the Active also asks all hosts for a peer, once in eight questions (docs/lan-traffic.md). */
const PEER_FACTOR = LEASED ? 9 / 8 : 1
/**
 * Tolerance in frames a second. The announcement of each minute (announce.refresh) may fall into the capture, and a late timer moves a
 * frame over its edge.
 */
const TOLERANCE = 0.25
const VIPS6 = ['fe80::77:100', 'fd77::100'] as const
const MACS: Readonly<Record<string, Kind>> = {
  '01:00:5e:00:00:12': 'group',
  '00:00:5e:00:01:33': 'virtualMac',
  'ff:ff:ff:ff:ff:ff': 'broadcast',
}

const numberOf = (host: Host) => host.address.split('.').at(-1)
const macOf = ({ namespace }: Host): string => {
  const [link] = JSON.parse(run(['ip', '-n', namespace, '-json', 'link', 'show', 'eth0']))
  return link.address
}

/** Returns the kind of a frame, or the frame itself as text if its kind is unknown. */
function kindOf(frame: Frame, active: string): Kind | string {
  const { arpOperation, arpSender, arpTarget, mac, naTarget, nsTarget, toMac } = frame
  const unexpected = `${mac} to ${toMac}: ${JSON.stringify(Object.fromEntries(Object.entries(frame).filter(([, v]) => v !== '')))}`
  // A Backup only sends answers.
  if (mac !== active) return arpOperation === '2' || naTarget !== '' ? 'answer' : `the Backup, ${unexpected}`
  if (frame.versionAndType !== '') return 'advertisement'
  if (nsTarget === VIPS6[0]) return 'solicitation'
  if (nsTarget === VIPS6[1]) return 'solicitationMore'
  if (nsTarget !== '') return 'peer'
  if (arpOperation === '1' && arpSender === '0.0.0.0' && arpTarget === LAB_VIP) return MACS[toMac] ?? unexpected
  return arpOperation === '1' && arpSender !== arpTarget && arpTarget !== LAB_VIP ? 'peer' : unexpected
}

async function counted(
  context: TestContext,
  { family, transport }: Setup,
  intervalMs: number,
): Promise<Readonly<Record<string, number>>> {
  const lab = createLab({ routers: 2 })
  context.onTestFinished(() => lab.destroy())
  const six = family === 'ipv6'
  const [first, second] = [lab.router(1), lab.router(2)]
  const own = (host: Host, prefix: string) => `${prefix}${numberOf(host)}`
  for (const host of six ? [first, second] : [])
    for (const address of [`${own(host, 'fe80::')}/64`, `${own(host, 'fd77::')}/64`])
      run(['ip', '-n', host.namespace, 'address', 'add', address, 'dev', 'eth0', 'nodad'])
  const reach = (host: Host, link: boolean) => (six ? own(host, link ? 'fe80::' : 'fd77::') : host.address)
  const start = (host: Host, other: Host, priority: number) =>
    new Holdfast(
      lab,
      {
        ...{ host, priority, intervalMs, address: six ? VIPS6[1] : LAB_VIP },
        ...(six ? { addresses: VIPS6 } : {}),
        ...(transport === 'multicast, one peer listed' ? { peers: [reach(other, true)] } : {}),
        ...(transport === 'unicast, one peer'
          ? { unicastPeers: [reach(other, false)], unicastSource: reach(host, false) }
          : {}),
      },
      ANNOUNCE,
    )
  const daemons = [start(first, second, 200), start(second, first, 100)]
  await Promise.all(daemons.map((daemon) => daemon.ready()))
  const state = async () => (await Promise.all(daemons.map((daemon) => daemon.state()))).join()
  await eventually('Active and Backup', async () => (await state()) === 'Active,Backup', {
    sight: state,
    within: 30_000,
    every: 100,
  })
  await sleep(ANNOUNCED)
  const capture = await Capture.start(lab, 'quiet', WATCHED)
  await sleep(COUNTED)
  const frames = await capture.stop()
  const from = Number(frames[0]?.at ?? 0)
  const within = frames.filter(({ at }) => Number(at) - from < COUNTED / 1_000)
  const counts: Record<string, number> = {}
  for (const frame of within) {
    const kind = kindOf(frame, macOf(first))
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return Object.fromEntries(Object.entries(counts).map(([kind, count]) => [kind, count / (COUNTED / 1_000)]))
}

describeNetns('a LAN without changes', () => {
  const turns = new Turns(6)
  const cases = QUIET.flatMap(({ family, transport, at1s, at100ms }) => [
    { setup: { family, transport }, intervalMs: 1_000, wanted: at1s },
    { setup: { family, transport }, intervalMs: 100, wanted: at100ms },
  ])
  for (const { intervalMs, setup, wanted } of cases)
    turns.test(
      `has the frames of docs/lan-traffic.md with ${setup.family}, ${setup.transport} and an interval of ${intervalMs} ms`,
      async (context) => {
        const rates = await counted(context, setup, intervalMs)
        const expected: Readonly<Record<string, number>> = wanted
        const off = [...new Set([...Object.keys(KINDS), ...Object.keys(rates)])].filter((kind) => {
          const isPeer = setup.family === 'ipv4' && (kind === 'peer' || kind === 'answer')
          const rate = (expected[kind] ?? 0) * (isPeer ? PEER_FACTOR : 1)
          return Math.abs((rates[kind] ?? 0) - rate) > TOLERANCE + rate * 0.05
        })
        expect(off, `expected ${JSON.stringify(wanted)}, counted ${JSON.stringify(rates)} frames a second`).toEqual([])
      },
    )
})
