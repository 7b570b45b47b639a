/**
 * Messages of a real daemon to a service manager, at a real socket (sd_notify(3)). systemd itself does not run in a lab.
 */
import { writeFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import { describeNetns } from '../support/require.ts'
import { ServiceManager } from '../support/service-manager.ts'

const WATCHDOG_MS = 1_000
/** Tolerance in ms. The guardian has a beat every 250 ms, and a message leaves with the first beat after its time. */
const LOOKS_MS = 350

describeNetns('the service manager of a daemon', () => {
  let lab: Lab | undefined
  let manager: ServiceManager | undefined

  afterEach(() => {
    manager?.close()
    lab?.destroy()
  })

  async function started(environment: readonly string[] = []) {
    lab = createLab({ routers: 1 })
    manager = await ServiceManager.listening(lab.directory)
    const given = [`NOTIFY_SOCKET=${manager.environment.NOTIFY_SOCKET}`, ...environment]
    const plan = { host: lab.router(1), priority: 200, intervalMs: 100, address: LAB_VIP }
    const daemon = new Holdfast(lab, plan, {}, [], {}, ['env', ...given])
    await daemon.ready()
    return { daemon, manager }
  }

  test('receives the states of the routers, each reload and the end of the daemon', async () => {
    const { daemon, manager } = await started()
    await manager.hears('READY=1')
    await manager.hears(`STATUS=vip is Active with ${LAB_VIP}`)

    const reloadedAt = daemon.reload({ ...daemon.plan, priority: 150 })
    const [, microseconds = ''] = /^RELOADING=1\|MONOTONIC_USEC=(\d+)$/.exec(await manager.hears('RELOADING=1')) ?? []
    expect(
      Number(microseconds) / 1000,
      'time in ms of the message about the reload, which must not be before the reload',
    ).toBeGreaterThanOrEqual(reloadedAt)
    expect(Number(microseconds) / 1000).toBeLessThanOrEqual(monotonicMs())
    await manager.hears(/^READY=1\|STATUS=vip is Active/)
    const before = manager.words.length

    writeFileSync(daemon.file, 'version: 2')
    daemon.process.signal('SIGHUP')
    await manager.hears('RELOADING=1', before)
    expect(await manager.hears('READY=1', before), 'a reload that failed is over, too').toMatch(
      new RegExp(`^READY=1\\|STATUS=vip is Active with ${LAB_VIP}. Reload failed: \\d* ?.*problem`),
    )

    daemon.terminate()
    await manager.hears(/^STOPPING=1\|STATUS=Leaving\. /)
    await daemon.exited
    expect(manager.words.filter((word) => word.includes('WATCHDOG'))).toEqual([])
    expect(manager.words.filter((word) => word === 'READY=1')).toHaveLength(1)
  })

  test('receives watchdog messages while the engine runs, and none while the engine is stopped', async () => {
    const { daemon, manager } = await started([`WATCHDOG_USEC=${WATCHDOG_MS * 1_000}`])
    const heard = () => manager.words.filter((word) => word === 'WATCHDOG=1').length
    await manager.hears('WATCHDOG=1')
    const [first, from] = [heard(), monotonicMs()]
    await sleep(4 * WATCHDOG_MS)
    const due = Math.floor((monotonicMs() - from) / (WATCHDOG_MS / 2 + LOOKS_MS))
    expect(heard() - first, `watchdog messages in ${monotonicMs() - from} ms`).toBeGreaterThanOrEqual(due)

    daemon.freeze()
    // A beat of the engine from before its stop may cause one more message.
    await sleep(WATCHDOG_MS)
    const frozen = heard()
    await sleep(2 * WATCHDOG_MS)
    expect(heard(), 'watchdog messages of a guardian whose engine is frozen').toBe(frozen)
    const position = manager.words.length
    daemon.thaw()
    await manager.hears('WATCHDOG=1', position)
  })
})
