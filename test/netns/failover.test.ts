/**
 * The main task with real daemons: three routers hold one address. Every accident has a test, which judges what other
 * hosts of the LAN see. The bounds are wide, because the machine may be busy. `make bench` measures the times.
 */
import { expect, test } from 'vitest'
import { run } from '../../src/lab/command.ts'
import { ip } from '../../src/lab/ip.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import { judgeTime } from '../judge/time.ts'
import { describeNetns } from '../support/require.ts'
import { downMs, MARGIN, PRIORITIES, ThreeRouters, WITHIN } from './three-routers.ts'

/** Longest overlap in ms. Two routers may answer ARP for a moment while they meet; a longer overlap is a split brain. */
const OVERLAP = 500
/** Longest gap in ms between two answers. Answers may be late on a busy machine. keepalived's gaps after a heal are 3 s and more. */
const SILENCE = 1_000

async function settled() {
  const group = await ThreeRouters.settled()
  return { group, lab: group.lab, prober: group.prober }
}

describeNetns('failover of three routers', () => {
  test('the router with the highest priority is elected, even if it starts last', async () => {
    const threeRouters = new ThreeRouters()
    await threeRouters.start(3, 100)
    await threeRouters.settlesOn(3, 'it started alone')
    await threeRouters.start(2, 150)
    await threeRouters.settlesOn(2, 'it joined')
    await threeRouters.start(1, 200)
    await threeRouters.settlesOn(1, 'it joined')
    await sleep(500)
    expect(await threeRouters.sight()).toEqual({
      r1: 'Active',
      r2: 'Backup',
      r3: 'Backup',
      holders: ['r1'],
      client: 'r1',
    })
    expect(threeRouters.overlapSince(0), 'ms in which two routers answered ARP').toBeLessThan(OVERLAP)
  })

  test('after SIGTERM, the address stays until the successor advertises, and then the daemon ends with status 0', async () => {
    const { group, lab, prober } = await settled()
    const at = group.daemon(1).terminate()
    await group.settlesOn(2, 'r1 got SIGTERM')
    expect(await group.daemon(1).exited).toMatchObject({ code: 0, signal: null })
    expect(lab.holders(LAB_VIP)).toEqual(['r2'])
    expect(prober.longestGap(at, at + WITHIN), 'ms without an answer').toBeLessThan(SILENCE)
    expect(group.overlapSince(at), 'ms in which two routers answered ARP').toBeLessThan(OVERLAP)
    expect(await group.daemon(3).state()).toBe('Backup')
  })

  test('after kill -9 of the engine, its guardian removes the address and the successor takes over', async () => {
    const { group, lab } = await settled()
    const at = group.daemon(1).killEngine()
    await group.settlesOn(2, 'the engine on r1 was killed')
    expect(await group.daemon(1).exited, 'exit status of the guardian, which is the one of its engine').toMatchObject({
      code: 137,
    })
    expect(lab.holders(LAB_VIP)).toEqual(['r2'])
    expect(group.overlapSince(at), 'ms in which two routers answered ARP').toBeLessThan(OVERLAP)
  })

  test('after kill -9 of all processes, the successor takes over, and the next start removes the addresses that stayed', async () => {
    const { group, lab } = await settled()
    group.daemon(1).killAll()
    await group.answeredBy(2, 'everything on r1 was killed')
    // A kill leaves the VIP on the interface, perhaps with another prefix length. The next start removes a VIP of the configuration with
    // any prefix length.
    ip(lab.router(1), `address replace ${LAB_VIP}/24 dev eth0`)
    expect(lab.holders(LAB_VIP)).toContain('r1')
    await group.start(1, 50)
    await group.holdersBecome(['r2'], 'r1 started again with a lower priority')
    expect(lab.addresses(lab.router(1)), 'addresses of r1, which must keep its own address').toContain(
      `${lab.router(1).address}/24`,
    )
    await group.answeredBy(2, 'r1 swept its address')
  })

  test('the address moves when the cable of the Active is pulled, and returns when it is plugged in again', async () => {
    const { group, lab, prober } = await settled()
    const pulled = lab.unplug(lab.router(1))
    await group.settlesOn(2, 'the cable of r1 was pulled')
    const moved = prober.movedFrom('r1', pulled)?.at ?? Number.NaN
    const most = downMs(PRIORITIES[1]) + MARGIN
    judgeTime('r2 answers after the cable of r1 was pulled', moved - pulled, most, 'RFC 9568 §6.1')
    const at = lab.plug(lab.router(1))
    await group.settlesOn(1, 'the cable of r1 was plugged in')
    expect(group.overlapSince(at), 'ms in which two routers answered ARP').toBeLessThan(OVERLAP)
  })

  test('the address moves when the interface of the Active is turned off, and returns when it is turned on', async () => {
    const { group, lab } = await settled()
    lab.setLink(lab.router(1), 'down')
    await group.settlesOn(2, 'eth0 of r1 went down')
    lab.setLink(lab.router(1), 'up')
    await group.settlesOn(1, 'eth0 of r1 came up')
  })

  test('after a cut is healed, a client with a cached neighbour entry is still answered', async () => {
    const { group, lab, prober } = await settled()
    for (const phase of [0, 23, 61]) {
      lab.cut(lab.router(1))
      await group.answeredBy(2, 'r1 was cut off')
      await sleep(group.splitMs + phase)
      expect(lab.holders(LAB_VIP), 'holders while the LAN is cut: each side has one').toEqual(['r1', 'r2'])
      const at = lab.heal(lab.router(1))
      await group.settlesOn(1, 'the cut was healed')
      await sleep(300)
      expect(prober.longestGap(at, at + WITHIN), 'ms without an answer after the heal').toBeLessThan(SILENCE)
      expect(group.overlapSince(at), 'ms in which two routers answered ARP').toBeLessThan(OVERLAP)
    }
  })

  test('an address that was removed from the Active is put back, and an address that was added to a Backup is removed', async () => {
    const { group, lab, prober } = await settled()
    const on = (position: number) => ['ip', '-n', lab.router(position).namespace, 'address']
    const held = lab.addresses(lab.router(1)).find((address) => address.startsWith(`${LAB_VIP}/`)) ?? LAB_VIP
    // A renewal by the guardian also puts the address back, up to a third of a lifetime later.
    for (const phase of [0, 200, 400]) {
      await sleep(phase)
      const at = monotonicMs()
      run([...on(1), 'delete', held, 'dev', 'eth0'])
      await group.settlesOn(1, 'its address was removed')
      await sleep(MARGIN)
      const gap = prober.longestGap(at, monotonicMs())
      judgeTime('r1 answers after its address was removed', gap, MARGIN, 'docs/failures.md')
    }
    run([...on(2), 'add', `${LAB_VIP}/32`, 'dev', 'eth0'])
    await group.settlesOn(1, 'somebody put the address on r2')
    expect(await group.sight()).toMatchObject({ r1: 'Active', r2: 'Backup', r3: 'Backup' })
  })
})
