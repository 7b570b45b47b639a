/**
 * The soak as part of all tests: half a minute of `make soak`, with every descriptor and socket counted before and
 * after. Memory needs a longer run: test/unit/judge/soak-judge.test.ts tests that the judge notices a leak.
 */
import { expect, test } from 'vitest'
import { storyOf } from '../judge/report.ts'
import { findingsOf, judge, watchMachine } from '../judge/time.ts'
import { describeNetns } from '../support/require.ts'
import { socketsOf } from './samples.ts'
import { isFailover } from './soak-judge.ts'
import { makeSoakPlan } from './soak-plan.ts'
import { complaintsOf, markdown, violationsIn } from './soak-report.ts'
import { runSoak } from './soak-run.ts'

/** Interval in ms. At 10 ms every pause of 30 ms is an absence: that takes a machine of its own, and `make soak`. */
const INTERVAL = 100

describeNetns('the soak of three nodes', () => {
  test('stays within the bounds for half a minute of faults, and leaves no descriptor open', {
    timeout: 480_000,
  }, async () => {
    const plan = makeSoakPlan({ seconds: 25, every: 5_000, reloadEvery: 10_000, warmUp: Number.POSITIVE_INFINITY })
    const failovers = plan.steps.filter(isFailover)
    expect(failovers.map(({ kind }) => kind)).toEqual(['stop', 'kill engine', 'yield', 'check failure', 'link flap'])
    expect(plan.steps.length - failovers.length, 'reloads in the plan').toBe(4)
    const lost = watchMachine()
    const result = await runSoak({ plan, interval: INTERVAL, sampleEvery: 1_000, warmUp: 3_000, heaps: false })
    const loss = lost()
    console.log(markdown(result))
    const { late, unseen } = findingsOf(result.assessment, violationsIn(result))
    const story = storyOf(result.assessment, result.notes, result.zero)
    judge('complaints of the soak', { late: [...complaintsOf(result), ...late], unseen, story, loss })
    expect(result.injected.length, 'steps that were carried out').toBe(plan.steps.length)
    // r1 was stopped once and killed once.
    expect(result.starts).toEqual({ r1: 3, r2: 1, r3: 1 })
    expect(result.scrapes.count, 'scrapes of three nodes, two a second').toBeGreaterThan(0.6 * 6 * result.seconds)
    // The comparison is not empty: a node has at least a raw socket for each router, netlink, and a channel to the
    // guardian.
    for (const node of ['r1', 'r2', 'r3'])
      expect(socketsOf(result.rest.after.get(`${node} engine`) ?? {}), `sockets of ${node}`).toBeGreaterThan(5)
  })
})
