/**
 * A run directory on a file system that no longer answers, such as a network file system without its server. The daemon still leaves in
 * good order. The file system is a FUSE mount whose server never reads a request.
 */
import { readFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { describeNetns } from '../support/require.ts'

const WITHIN = 15_000
/** Limit in ms. The sum of the waits at the end of a daemon and the time of the exit (src/app/shut-down.ts), on a busy machine. */
const LEAVES_WITHIN = 10_000

describeNetns('a run directory that no longer answers', () => {
  let lab: Lab | undefined
  let server: LoggedProcess | undefined
  afterEach(async () => {
    // The end of the server answers every request that is still open.
    server?.signal('SIGKILL')
    await server?.exited
    lab?.destroy()
    lab = undefined
    server = undefined
  })

  /** Mounts the file system where the daemon sees the mount: `ip netns exec` gives each process mounts of its own. */
  async function die(here: Lab, daemon: Holdfast): Promise<void> {
    const pid = daemon.process.children[0] ?? expect.fail('no engine')
    const mount = 'exec 3<>/dev/fuse; mount -i -t fuse dead "$0" -o fd=3,rootmode=40000,user_id=0,group_id=0'
    const inside = ['nsenter', `--mount=/proc/${pid}/ns/mnt`, 'sh', '-c', `${mount} && echo mounted; exec sleep 600`]
    server = new LoggedProcess(here, daemon.host, [...inside, daemon.directory])
    await server.line(/^mounted$/, WITHIN)
  }

  test.each([
    ['SIGTERM', 0],
    ['SIGKILL of the guardian', null],
  ] as const)('%s: the VIP is released, and every process ends by itself', async (order, code) => {
    lab = createLab({ routers: 1 })
    const here = lab
    const plan = { host: here.router(1), priority: 200, intervalMs: 200, address: LAB_VIP }
    const daemon = new Holdfast(here, plan)
    const holds = (wanted: boolean) =>
      eventually(`${LAB_VIP} ${wanted ? '' : 'not '}on r1`, () => here.holders(LAB_VIP).includes('r1') === wanted, {
        sight: () => daemon.lastLines(5),
      })
    await holds(true)
    const engine = daemon.process.children[0] ?? expect.fail('no engine')
    await die(here, daemon)
    const from = order === 'SIGTERM' ? daemon.terminate() : daemon.process.signal('SIGKILL')
    await holds(false)
    const released = monotonicMs() - from
    await eventually(`the engine ${engine} to end by itself`, () => !isAlive(engine), {
      sight: () => daemon.lastLines(5),
      within: LEAVES_WITHIN,
    })
    console.log(
      `${order}: released after ${released.toFixed(0)} ms, ended after ${(monotonicMs() - from).toFixed(0)} ms`,
    )
    if (code !== null) expect((await daemon.exited).code).toBe(code)
  })
})

/** Returns whether a process runs. False for a process that has ended and for which its parent has not waited. */
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
