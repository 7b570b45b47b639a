/**
 * Accidents of containers: killed, stopped, frozen, out of memory, off their network, unable to receive each other.
 * Each test checks the holder that answers the clients, and that no other router has the addresses afterwards. The
 * group heals to its first router, without a restart of any container that was not stopped. A bound of these tests is
 * the time of the mechanism plus time for a busy machine. The benchmark measures times.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { describeContainer } from '../support/require.ts'
import { DockerRouters, FAMILIES, type Family, INTERVAL, PRIORITIES } from './docker-routers.ts'

/** Limit in ms for a takeover without priority 0: Active_Down_Interval of the second router, and time for a busy machine. */
const UNTOLD = activeDownIntervalMs(PRIORITIES[1], INTERVAL) + 2_500

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

describeContainer('a group of three routers in containers', () => {
  let routers: DockerRouters
  beforeAll(async () => {
    routers = await DockerRouters.settled()
  }, 120_000)
  afterAll(() => routers?.destroy())
  beforeEach(() => routers.heal())

  /** Expects one takeover by r2 within the bound. After the takeover `heal` brings the addresses back to r1. */
  async function movesToSecondAndBack(since: number, occasion: string, heal: () => Promise<void>): Promise<void> {
    expect(routers.longestGap(since), `ms without an answer after ${occasion}`).toBeLessThan(UNTOLD)
    routers.expectHolders(['r2'], since, occasion)
    await heal()
    await routers.settlesOn(1, `${occasion} was over`)
    routers.expectHolders(['r2', 'r1'], since, `${occasion} was over`)
    expect(routers.longestGap(since), `ms without an answer, until ${occasion} was over`).toBeLessThan(UNTOLD)
  }

  test('after a kill the second router takes over, and a start brings the first one back', async () => {
    const r1 = routers.router(1)
    const at = monotonicMs()
    await r1.container.kill()
    await routers.settlesOn(2, 'r1 was killed', [3])
    await movesToSecondAndBack(at, 'the kill', () => r1.start())
  })

  test('a stopped router leaves with status 0 and priority 0, so its successor need not wait for a silence', async () => {
    const r1 = routers.router(1)
    const at = monotonicMs()
    await r1.container.stop({ t: 30 })
    await routers.settlesOn(2, 'r1 was stopped', [3])
    const { ExitCode, OOMKilled } = (await r1.container.inspect()).State
    expect({ ExitCode, OOMKilled }, `how r1 ended: ${r1.log()}`).toEqual({ ExitCode: 0, OOMKilled: false })
    await movesToSecondAndBack(at, 'the stop', () => r1.start())
  })

  describe('a paused container', () => {
    test('keeps the address in the kernel during a short pause, and one holder is left afterwards', async () => {
      const r1 = routers.router(1)
      const at = monotonicMs()
      await r1.container.pause()
      await routers.answeredBy(2, 'r1 was frozen')
      await movesToSecondAndBack(at, 'the pause', () => r1.container.unpause())
    })

    test('loses the addresses in the kernel during a long pause, and one holder is left afterwards', async () => {
      const r1 = routers.router(1)
      const at = monotonicMs()
      await r1.container.pause()
      await routers.answeredBy(2, 'r1 was frozen')
      const dropped = async () => (await r1.links()).vips.length === 0
      const sight = () => r1.links()
      await eventually('the kernel of r1 to drop both addresses', dropped, { sight, every: 100 })
      await routers.settlesOn(2, 'the kernel of r1 dropped the addresses', [3])
      await movesToSecondAndBack(at, 'the pause', () => r1.container.unpause())
    })
  })

  test('if the kernel kills the engine because memory is short, the guardian executes the cleanup plan', async () => {
    const r1 = routers.router(1)
    const at = monotonicMs()
    // No process owns files in memory, so the kernel cannot free them by a kill. The kernel kills the largest process.
    const Cmd = ['dd', 'if=/dev/zero', 'of=/dev/shm/fill', 'bs=1M']
    await (await r1.container.exec({ Cmd })).start({ Detach: true })
    await routers.settlesOn(2, 'r1 ran out of memory', [3])
    const ended = async () => !(await r1.container.inspect()).State.Running
    const sight = async () => (await r1.container.inspect()).State
    await eventually('r1 to have ended', ended, { sight, every: 100 })
    expect(
      (await sight()).OOMKilled,
      `whether the kernel killed a process of r1 for memory; log of r1: ${r1.log()}`,
    ).toBe(true)
    await movesToSecondAndBack(at, 'the end of the memory', () => r1.start())
  })

  test('after a network disconnect and connect the router runs on the new interface without a restart', async () => {
    const r1 = routers.router(1)
    const [pid, before] = [await r1.pid(), (await r1.links()).indexes]
    const at = monotonicMs()
    await r1.disconnect()
    await routers.settlesOn(2, 'r1 was disconnected', [3])
    expect((await r1.links()).indexes, 'interfaces of r1 while it is disconnected').toEqual([])
    await movesToSecondAndBack(at, 'the disconnect', () => r1.connect())
    const after = (await r1.links()).indexes
    expect([before.length, after.length], 'interfaces of r1 before and after').toEqual([1, 1])
    expect(after, 'index of the interface of r1').not.toEqual(before)
    expect(await r1.pid(), 'first process of r1').toBe(pid)
  })

  test('while protocol 112 is dropped two holders are reported, and afterwards only r1 is left', async () => {
    const r1 = routers.router(1)
    const observers = new Map(FAMILIES.map((family) => [family, routers.observer(family)]))
    const link = (await r1.shown()).find(({ ifname }) => ifname !== 'lo')
    const mac = link?.address ?? ''
    const answering = (family: Family) => observers.get(family)?.claims.at(-1)?.macs ?? []
    const sight = () => FAMILIES.map((family) => ({ family, macs: answering(family) }))
    const answers = (count: number) => () => FAMILIES.every((family) => answering(family).length === count)
    await eventually('one MAC to answer in each family', answers(1), { sight, every: 50 })

    // r1 receives and sends no VRRP. All other packets pass.
    for (const [i, router] of routers.routers.entries()) {
      const which = i === 0 ? '' : `ether saddr ${mac} `
      const chain = `chain in { type filter hook input priority 0; ${which}meta l4proto 112 drop; }`
      await router.inNetwork('nft', `table inet split { ${chain}; }`)
    }
    await eventually('two MACs to answer in each family', answers(2), { sight, every: 50 })
    expect(await routers.holders(), 'routers whose kernel has the addresses').toEqual({
      IPv4: ['r1', 'r2'],
      IPv6: ['r1', 'r2'],
    })
    const told = async () => (await Promise.all([1, 2].map((of) => alarmed(routers, of)))).every(Boolean)
    const seen = () => Promise.all([1, 2].map((of) => routers.router(of).snapshot()))
    await eventually('r1 and r2 to tell of a second holder', told, { sight: seen, every: 200 })

    for (const router of routers.routers) await router.inNetwork('nft', 'delete', 'table', 'inet', 'split')
    await routers.settlesOn(1, 'everybody heard each other again')
    await eventually('one MAC to answer in each family', answers(1), { sight, every: 50 })
    expect(FAMILIES.map(answering), 'MACs that answer for the addresses').toEqual(FAMILIES.map(() => [mac]))
    // By then any packet that was under way has arrived.
    await sleep(1_000)
    await routers.settlesOn(1, 'a second more')
    for (const observer of observers.values()) await observer.stop()
  })
}, ['nsenter', 'ip', 'nft'])

/** Reports whether the router has logged, in each family, that another router has one of its addresses. */
async function alarmed(group: DockerRouters, position: number): Promise<boolean> {
  const routers = (await group.router(position).snapshot())?.routers ?? []
  return routers.length > 0 && routers.every(({ duplicates }) => duplicates.length > 0)
}
