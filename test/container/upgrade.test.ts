/**
 * The image of three routers is replaced, one router after the other, the router with the lowest priority first. The
 * steps are those of an operator: stop, remove, start the new container, check that it is Backup, go on. A pair of
 * clients asks during the whole upgrade.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'
import { monotonicMs } from '../../src/lab/wait.ts'
import { docker } from '../support/docker.ts'
import { describeContainer } from '../support/require.ts'
import { buildRevision } from './build-image.ts'
import { DockerRouters, INTERVAL, PRIORITIES } from './docker-routers.ts'

const NEXT = 'holdfast:test-next'
const REVISION = 'next'
const LABEL = 'org.opencontainers.image.revision'
/**
 * Limit in ms without an answer in a planned move. A leaving router waits for its successor, which takes over after one Skew_Time; the rest
 * is for a busy machine. A client whose neighbour entry is not corrected asks again after 5 s at the earliest.
 */
const PLANNED = activeDownIntervalMs(PRIORITIES[1], INTERVAL) + 2_500

describeContainer('three routers in containers, whose image is replaced', () => {
  let routers: DockerRouters
  beforeAll(async () => {
    buildRevision(NEXT, LABEL, REVISION)
    routers = await DockerRouters.settled()
  }, 120_000)
  afterAll(() => {
    routers?.destroy()
    docker(['rmi', NEXT])
  })

  test('an upgrade of one router after the other moves the addresses twice, without an Active_Down_Interval', async () => {
    const at = monotonicMs()
    for (const position of [3, 2, 1]) {
      const router = routers.router(position)
      await router.container.stop({ t: 30 })
      expect((await router.container.inspect()).State.ExitCode, `status of ${router.name}: ${router.log()}`).toBe(0)
      if (position === 1) await routers.settlesOn(2, 'r1 was stopped', [3])
      await router.remove()
      await router.create(NEXT)
      await routers.settlesOn(1, `${router.name} was replaced`)
    }
    for (const { name, container } of routers.routers) {
      const { Config, State } = await container.inspect()
      expect([Config.Labels[LABEL], State.Running], `revision of ${name}, running`).toEqual([REVISION, true])
    }
    routers.expectHolders(['r2', 'r1'], at, 'all were replaced')
    expect(routers.longestGap(at), 'ms without an answer').toBeLessThan(PLANNED)
  }, 120_000)
}, ['nsenter', 'ip'])
