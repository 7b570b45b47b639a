/**
 * A sync group on two LANs, seen from outside while the cable of one LAN is pulled. An Active that loses the carrier goes into fault
 * immediately, removes all its addresses and sends priority 0 on the other LAN. A Backup without carrier never takes over, even if
 * no other router is left (VR-TRK-11, VR-SG-01).
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { ip } from '../../src/lab/ip.ts'
import { createLab, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { Capture, type Frame } from '../../src/lab/watch/capture.ts'
import { judgeTime } from '../judge/time.ts'
import { describeNetns } from '../support/require.ts'

const INTERVAL = 100
const WITHIN = 10_000
/**
 * Limit in ms from the pulled cable to priority 0, on a machine that other processes keep busy. Only the event of the lost carrier can
 * cause a priority 0 here, because the other LAN is intact.
 */
const AT_ONCE = 1_000
const BACK_VIP = '10.78.0.100'
/** Word of iproute2 for the bridge of a port. */
const ON_BRIDGE = 'master'

let lab: Lab
beforeEach(() => {
  lab = createLab({ routers: 2, clients: ['client', 'back'] })
  // The second LAN of the test: eth1 of each router, and a host that watches.
  const lines = [
    'link add br1 type bridge stp_state 0 mcast_snooping 0 forward_delay 0',
    'link set br1 up',
    `link set ${lab.host('back').port} ${ON_BRIDGE} br1`,
    ...lab.routers.flatMap(({ namespace, port }) => [
      `link add back${port} type veth peer name eth1 netns ${namespace}`,
      `link set back${port} ${ON_BRIDGE} br1 up`,
    ]),
  ]
  ip(lab.bridge, ...lines)
  for (const host of lab.routers) {
    ip(host, `address add ${backOf(host)}/24 dev eth1`)
    ip(host, 'link set eth1 up')
  }
})
afterEach(() => lab.destroy())

const backOf = ({ address }: Host): string => address.replace('10.77.', '10.78.')

function start(host: Host, priority: number): Holdfast {
  const common = { priority, advertisementInterval: `${INTERVAL}ms` }
  const back = { name: 'back', vrid: 52, interface: 'eth1', addresses: [BACK_VIP], ...common }
  const front = { name: 'front', vrid: 51, interface: 'eth0', addresses: [LAB_VIP], ...common }
  const top = { virtualRouters: [front, back], syncGroups: [{ name: 'both', members: ['front', 'back'] }] }
  return new Holdfast(lab, { host, priority, intervalMs: INTERVAL, address: LAB_VIP }, {}, [], top)
}

/** Returns the virtual addresses that the kernel of a router has. */
function held({ namespace }: Host): string[] {
  const shown = ip(namespace, '-4 -oneline address show')
  return [LAB_VIP, BACK_VIP].filter((vip) => shown.includes(` ${vip}/`))
}

const holds = (host: Host, wanted: readonly string[], why: string) =>
  eventually(`${host.name} to hold [${wanted.join(', ')}] after ${why}`, () => held(host).join() === wanted.join(), {
    sight: () => lab.routers.map((one) => [one.name, held(one)]),
  })

const sentBy = (frames: readonly Frame[], host: Host) => frames.filter(({ source }) => source === backOf(host))

describeNetns('the carrier of one LAN of a sync group', () => {
  test('an Active that loses the carrier removes all addresses and sends priority 0 on the other LAN, and the Backup follows', async () => {
    const [r1, r2] = [lab.router(1), lab.router(2)]
    const [one, two] = [start(r1, 200), start(r2, 150)]
    const both = [LAB_VIP, BACK_VIP]
    await holds(r1, both, 'the start')
    await two.ready()
    const capture = await Capture.start(lab, 'back', 'ip proto 112', lab.host('back'))
    const at = Date.now()
    lab.unplug(r1)
    await holds(r1, [], 'its cable on the front LAN was pulled')
    await holds(r2, both, 'the Active lost its carrier')
    const frames = await capture.stop()
    const released = sentBy(frames, r1).filter(({ priority }) => priority === '0')
    const after = Number(released[0]?.at) * 1000 - at
    expect(after, 'ms from the pulled cable to priority 0 on the other LAN').toBeGreaterThanOrEqual(0)
    judgeTime('ms from the pulled cable to priority 0 on the other LAN', after, AT_ONCE, 'docs/failures.md')
    const rest = sentBy(frames, r1).filter(({ at: sentAt }) => Number(sentAt) > Number(released.at(-1)?.at))
    expect(rest, 'packets of r1 after its last priority 0').toEqual([])
    const routers = (await one.snapshot())?.routers ?? []
    expect(routers.map(({ faults, name, state }) => [name, state, faults])).toEqual([
      ['front', 'Initialize', ['linkDown']],
      ['back', 'Initialize', ['syncGroup:front']],
    ])
  })

  test('a Backup without the carrier never takes over, even if no other router is left', async () => {
    const [r1, r2] = [lab.router(1), lab.router(2)]
    const [one, two] = [start(r1, 200), start(r2, 150)]
    await holds(r1, [LAB_VIP, BACK_VIP], 'the start')
    await two.ready()
    lab.unplug(r2)
    await two.becomes('Initialize', WITHIN)
    const capture = await Capture.start(lab, 'back', 'ip proto 112', lab.host('back'))
    one.killAll()
    await sleep(3 * activeDownIntervalMs(150, INTERVAL))
    expect(held(r2), 'addresses of r2 without a carrier on one of its LANs').toEqual([])
    expect(sentBy(await capture.stop(), r2), 'what r2 sends on the LAN that it still has').toEqual([])
    lab.plug(r2)
    await holds(r2, [LAB_VIP, BACK_VIP], 'its cable was plugged in again')
  })
})
