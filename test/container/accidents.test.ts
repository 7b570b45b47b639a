/**
 * What happens to containers: killed, stopped, frozen, out of memory, off their network, deaf to each other. Of each: who
 * answers the clients, that nobody else has the addresses afterwards, and that the group heals to its first router without a
 * restart of anything that was not stopped. Bounds are those of the mechanism with a machine's weather on top; speed is
 * the benchmark's.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { describeContainer } from '../support/require.ts'
import { DockerTrio, FAMILIES, type Family, INTERVAL, PRIORITIES, WITHIN } from './docker-trio.ts'

/** What the second router waits when nobody tells it anything, and as much again as a busy machine may take. */
const UNTOLD = activeDownIntervalMs(PRIORITIES[1], INTERVAL) + 2_500

vi.setConfig({ testTimeout: 4 * WITHIN, hookTimeout: 2 * WITHIN })

describeContainer('three routers in containers', () => {
  let trio: DockerTrio
  beforeAll(async () => {
    trio = await DockerTrio.settled()
  }, 120_000)
  afterAll(() => trio?.destroy())
  beforeEach(() => trio.heal())

  /** One takeover by r2, not longer than that; then `heal` brings one back to r1. */
  async function movesToSecondAndBack(since: number, occasion: string, heal: () => Promise<void>): Promise<void> {
    expect(trio.longestGap(since), `ms without an answer after ${occasion}`).toBeLessThan(UNTOLD)
    trio.expectOwners(['r2'], since, occasion)
    await heal()
    await trio.settlesOn(1, `${occasion} was over`)
    trio.expectOwners(['r2', 'r1'], since, `${occasion} was over`)
    expect(trio.longestGap(since), `ms without an answer, until ${occasion} was over`).toBeLessThan(UNTOLD)
  }

  test('kill: the second takes over, and the first comes back with a start', async () => {
    const r1 = trio.router(1)
    const at = monotonicMs()
    await r1.container.kill()
    await trio.settlesOn(2, 'r1 was killed', [3])
    await movesToSecondAndBack(at, 'the kill', () => r1.start())
  })

  test('stop: it leaves by itself, with status 0, and the successor need not wait for silence', async () => {
    const r1 = trio.router(1)
    const at = monotonicMs()
    await r1.container.stop({ t: 30 })
    await trio.settlesOn(2, 'r1 was stopped', [3])
    const { ExitCode, OOMKilled } = (await r1.container.inspect()).State
    expect({ ExitCode, OOMKilled }, `how r1 ended: ${r1.log()}`).toEqual({ ExitCode: 0, OOMKilled: false })
    await movesToSecondAndBack(at, 'the stop', () => r1.start())
  })

  describe('pause', () => {
    test('for a moment: the frozen kernel has the address still when the router goes on; one owner in the end', async () => {
      const r1 = trio.router(1)
      const at = monotonicMs()
      await r1.container.pause()
      await trio.answeredBy(2, 'r1 was frozen')
      await movesToSecondAndBack(at, 'the pause', () => r1.container.unpause())
    })

    test('for long: the kernel drops the addresses that nobody renews; one owner in the end', async () => {
      const r1 = trio.router(1)
      const at = monotonicMs()
      await r1.container.pause()
      await trio.answeredBy(2, 'r1 was frozen')
      const dropped = async () => (await r1.links()).vips.length === 0
      const sight = () => r1.links()
      await eventually('the kernel of r1 to drop both addresses', dropped, sight, { within: WITHIN, every: 100 })
      await trio.settlesOn(2, 'the kernel of r1 dropped the addresses', [3])
      await movesToSecondAndBack(at, 'the pause', () => r1.container.unpause())
    })
  })

  test('out of memory: the kernel kills the engine, and the guardian carries out its last will', async () => {
    const r1 = trio.router(1)
    const at = monotonicMs()
    // Files in memory belong to nobody that could be killed for them, so the kernel takes the greatest process.
    const Cmd = ['dd', 'if=/dev/zero', 'of=/dev/shm/fill', 'bs=1M']
    await (await r1.container.exec({ Cmd })).start({ Detach: true })
    await trio.settlesOn(2, 'r1 ran out of memory', [3])
    const ended = async () => !(await r1.container.inspect()).State.Running
    const sight = async () => (await r1.container.inspect()).State
    await eventually('r1 to have ended', ended, sight, { within: WITHIN, every: 100 })
    expect((await sight()).OOMKilled, `the kernel killed for memory in r1, which wrote: ${r1.log()}`).toBe(true)
    await movesToSecondAndBack(at, 'the end of the memory', () => r1.start())
  })

  test('network disconnect and connect: another interface, and the router is on it without a restart', async () => {
    const r1 = trio.router(1)
    const [pid, before] = [await r1.pid(), (await r1.links()).indexes]
    const at = monotonicMs()
    await r1.disconnect()
    await trio.settlesOn(2, 'r1 was disconnected', [3])
    expect((await r1.links()).indexes, 'interfaces of r1 while it is disconnected').toEqual([])
    await movesToSecondAndBack(at, 'the disconnect', () => r1.connect())
    const after = (await r1.links()).indexes
    expect([before.length, after.length], 'interfaces of r1 before and after').toEqual([1, 1])
    expect(after, 'index of the interface of r1').not.toEqual(before)
    expect(await r1.pid(), 'first process of r1').toBe(pid)
  })

  test('protocol 112 is dropped: two owners, told as such, and after it the right one alone', async () => {
    const r1 = trio.router(1)
    const observers = new Map(FAMILIES.map((family) => [family, trio.observer(family)]))
    const link = (await r1.shown()).find(({ ifname }) => ifname !== 'lo')
    const mac = link?.address ?? ''
    const answering = (family: Family) => observers.get(family)?.claims.at(-1)?.macs ?? []
    const sight = () => FAMILIES.map((family) => ({ family, macs: answering(family) }))
    const answers = (count: number) => () => FAMILIES.every((family) => answering(family).length === count)
    await eventually('one MAC to answer in each family', answers(1), sight, { within: WITHIN, every: 50 })

    // r1 hears nobody and is not heard; everything else passes.
    for (const [i, router] of trio.routers.entries()) {
      const which = i === 0 ? '' : `ether saddr ${mac} `
      const chain = `chain in { type filter hook input priority 0; ${which}meta l4proto 112 drop; }`
      await router.inNetwork('nft', `table inet split { ${chain}; }`)
    }
    await eventually('two MACs to answer in each family', answers(2), sight, { within: WITHIN, every: 50 })
    expect(await trio.holders(), 'the kernels').toEqual({ IPv4: ['r1', 'r2'], IPv6: ['r1', 'r2'] })
    const told = async () => (await Promise.all([1, 2].map((of) => alarmed(trio, of)))).every(Boolean)
    const seen = () => Promise.all([1, 2].map((of) => trio.router(of).snapshot()))
    await eventually('r1 and r2 to tell of a second owner', told, seen, { within: WITHIN, every: 200 })

    for (const router of trio.routers) await router.inNetwork('nft', 'delete', 'table', 'inet', 'split')
    await trio.settlesOn(1, 'everybody heard each other again')
    await eventually('one MAC to answer in each family', answers(1), sight, { within: WITHIN, every: 50 })
    expect(FAMILIES.map(answering), 'who answers').toEqual(FAMILIES.map(() => [mac]))
    // Later than whatever might have been on its way.
    await sleep(1_000)
    await trio.settlesOn(1, 'a second more')
    for (const observer of observers.values()) await observer.stop()
  })
}, ['nsenter', 'ip', 'nft'])

/** It says in each family that somebody else has an address of its own. */
async function alarmed(trio: DockerTrio, position: number): Promise<boolean> {
  const routers = (await trio.router(position).snapshot())?.routers ?? []
  return routers.length > 0 && routers.every(({ duplicates }) => duplicates.length > 0)
}
