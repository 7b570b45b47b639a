/**
 * The steps of every row of the interop matrix: election, preemption, takeover from a killed router, leaving, a cut and
 * its heal. All neighbours and protocols share the steps. If a neighbour must differ, the assertion names the
 * difference. This file does not know the list of rows (match.ts) and how the two routers are observed (pair.ts).
 */
import { expect, type TestContext } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { sleep } from '../../src/lab/wait.ts'
import type { Frame } from '../../src/lab/watch/capture.ts'
import { judgeTime } from '../judge/time.ts'
import { Turns } from '../support/turns.ts'
import { activeDownIntervalOf, type Match, PRIORITY, skewTimeOf } from './match.ts'
import { Pair } from './pair.ts'

/**
 * Phases of the heals within an interval, so that each router advertises first in some heals. The router that advertises second may not
 * notice the competing Active.
 */
const PHASES = [0, 0.29, 0.61, 0.13, 0.47, 0.83]
/** Time in ms after a takeover until its announcements end, which would hide a stale neighbour entry. */
const ANNOUNCED = 5_500
/**
 * Limit in ms without an answer. keepalived alone leaves a client without an answer for 3 s and more in every other heal. A client that
 * resolves the address again and gets no answer asks again after 1 s.
 */
const SILENCE = 2_500
/** Tolerance in ms for a busy machine. The bounds below distinguish mechanisms, and measure no times. */
const SLACK = 1_000
/**
 * Limit in ms without an answer in a hand-over, on a busy machine. A router that first removes the address leaves the client for a
 * Skew_Time, 600 ms.
 */
const HANDED_OVER = 300

/** Assertion about the packets of a step, made when the capture has ended. */
type Check = (frames: readonly Frame[]) => void
type Step = (group: Pair) => Promise<Check>
const NOTHING: Check = () => {}

/** Returns the time of the capture's clock in s. */
const now = (): number => Date.now() / 1_000
const since = (frames: readonly Frame[], at: number) => frames.filter((frame) => Number(frame.at) >= at)

/**
 * Plays the steps one after the other, as accidents follow each other on a node. All steps use one LAN, one start of
 * the daemons and one capture.
 */
async function play(match: Match, steps: readonly Step[], { onTestFinished }: TestContext): Promise<void> {
  const group = new Pair(match)
  onTestFinished(() => group.lab.destroy())
  await group.listen()
  const checks: { readonly until: number; readonly check: Check }[] = []
  for (const step of steps) {
    const check = await step(group)
    checks.push({ until: now(), check })
  }
  const frames = await group.wireIsClean()
  for (const { check, until } of checks) check(frames.filter(({ at }) => Number(at) < until))
}

const elects: Step = async (group) => {
  const { high, low, protocol } = group.match
  await group.start('high')
  await group.settlesOn('high', 'it started alone')
  await group.start('low')
  await sleep(Math.max(1_000, 1.5 * activeDownIntervalOf(protocol, PRIORITY.low)))
  await group.settlesOn('high', `${low} joined`)
  await group.bothAreContent()
  return (frames) => {
    expect(group.from('high', frames).length, `advertisements of ${high}`).toBeGreaterThan(0)
    expect(group.from('low', frames), `advertisements of ${low} beside a better router`).toEqual([])
  }
}

const preempts: Step = async (group) => {
  const { high, low } = group.match
  await group.start('low')
  await group.settlesOn('low', 'it started alone')
  await group.start('high')
  await group.settlesOn('high', 'it joined')
  await sleep(Math.max(500, 1.5 * group.intervalMs))
  await group.settlesOn('high', 'it preempted')
  await group.bothAreContent()
  return (frames) => {
    const last = group.from('low', frames).at(-1)
    const first = sinceSilence(group.from('high', frames), 3 * group.intervalMs)
    // The loser may send one last advertisement after its addresses are removed (docs/architecture.md, Protocol decisions), and no more.
    const late = group.from('low', frames).filter(({ at }) => Number(at) > Number(first?.at))
    expect(
      late.length,
      `advertisements of ${low} after the first of ${high}; last at ${last?.at}, first at ${first?.at}`,
    ).toBeLessThanOrEqual(2)
  }
}

/**
 * Returns the first frame of the last run of frames without a silence of `silence`. A router may stop again while it
 * starts (FRR, when its macvlan comes up late). After such a stop the second router must follow, and does not count as
 * late.
 */
function sinceSilence(frames: readonly Frame[], silence: number): Frame | undefined {
  const begins = frames.filter(({ at }, i) => i === 0 || 1000 * (Number(at) - Number(frames[i - 1]?.at)) > silence)
  return begins.at(-1)
}

async function comesBack(group: Pair, after: string): Promise<void> {
  await group.start('high')
  await group.settlesOn('high', `it was started again after ${after}`)
  await group.bothAreContent()
}

/** Kills all processes of the Active together, as if its container were killed. */
const takesOver: Step = async (group) => {
  const { high, low, protocol } = group.match
  const at = group.daemon('high').killAll()
  await group.moves('low', `to be Active after ${high} was killed`)
  const down = activeDownIntervalOf(protocol, PRIORITY.low)
  const took = group.movedAfter('high', at)
  judgeTime(`from the kill of ${high} until ${low} answered the client`, took, down + SLACK, 'RFC 9568 §6.1')
  // The kernel of the dead node keeps the address until the next start of its daemon.
  await group.bothAreContent()
  await comesBack(group, 'it was killed')
  return NOTHING
}

/** Kills the engine alone. The cleanup plan sends priority 0 in its place, in the format that the neighbour reads. */
const leavesByItsPlan: Step = async (group) => {
  const killed = now()
  const leaver = group.daemon('high')
  const at = leaver.killEngine()
  await group.settlesOn('low', 'the engine was killed')
  const untold = activeDownIntervalOf(group.match.protocol, PRIORITY.low) - group.intervalMs
  const took = group.movedAfter('high', at)
  judgeTime('from the kill of the engine until the successor answered the client', took, untold, 'docs/reliability.md')
  await group.bothAreContent()
  const over = now()
  await leaver.exited
  await comesBack(group, 'its engine was killed')
  return (frames) => {
    const meanwhile = since(group.from('high', frames), killed).filter((frame) => Number(frame.at) < over)
    const zero = meanwhile.filter(({ priority }) => priority === '0')
    expect(zero.length, 'packets with priority 0 in the name of the killed engine').toBeGreaterThan(0)
  }
}

const leaves: Step = async (group) => {
  const { high, low, protocol } = group.match
  // A router that has just started must first receive the other router.
  await sleep(2 * group.intervalMs)
  const leaver = group.daemon('high')
  await group.bothAreContent()
  const left = now()
  const at = leaver.terminate()
  await group.settlesOn('low', `${high} was told to leave`)
  const skew = skewTimeOf(protocol, PRIORITY.low)
  const took = group.movedAfter('high', at)
  judgeTime(`from SIGTERM of ${high} until ${low} answered the client`, took, skew + SLACK, 'RFC 9568 §6.4.2')
  // holdfast answers until its successor has announced itself. All other daemons first remove the address.
  const silence = leaver instanceof Holdfast ? HANDED_OVER : skew + SLACK
  const unanswered = group.silenceSince(at)
  judgeTime(`without an answer when ${high} left`, unanswered, silence, 'docs/migrating-from-keepalived.md')
  if (high !== 'frr')
    expect(await leaver.exited, `exit of ${high} after SIGTERM`).toMatchObject({ code: 0, signal: null })
  await group.bothAreContent()
  await comesBack(group, 'it was told to leave')
  return (frames) => {
    const zero = since(group.from('high', frames), left).find(({ priority }) => priority === '0')
    const successor = since(group.from('low', frames), left)[0]
    expect(zero, `packet with priority 0 from ${high} after SIGTERM`).toBeDefined()
    expect(Number(zero?.at), `time of priority 0 of ${high}, before the first advertisement of ${low}`).toBeLessThan(
      Number(successor?.at),
    )
  }
}

const heals: Step = async (group) => {
  const { high } = group.match
  await sleep(ANNOUNCED)
  const healedAt: number[] = []
  // With an interval of one second, a cut takes seconds, so fewer cuts are played.
  for (const phase of PHASES.slice(0, group.intervalMs > 100 ? 2 : PHASES.length)) {
    group.lab.cut(group.high.host)
    await group.splits()
    await group.moves('low', `to answer the client while ${high} is cut off`)
    const later = (phase + (group.intervalMs > 100 ? 0 : 3)) * group.intervalMs
    await sleep(later)
    healedAt.push(now())
    const at = group.lab.heal(group.high.host)
    const occasion = `a heal ${later.toFixed(0)} ms after the split`
    await group.isElected('high', occasion)
    // FRR does not know of the competing Active and does not announce again. The client finds the address when it resolves the address
    // again.
    if (high === 'frr') group.clientForgets()
    await group.settlesOn('high', occasion)
    const entry = high === 'frr' ? 'whose neighbour entry was flushed' : 'with its cached neighbour entry'
    judgeTime(`a client, ${entry}, without an answer`, group.silenceSince(at), SILENCE, 'docs/adr/0007')
    await sleep(2 * group.intervalMs)
  }
  await group.bothAreContent()
  return (frames) => {
    if (high === 'frr')
      expect(
        since(group.announcedByFrr(frames), healedAt[0] ?? 0),
        'announcements of FRR 8.4 after a heal that it won: it is known to send none',
      ).toEqual([])
  }
}

/** Defines two tests for each row. `beside` is the number of concurrent tests, which wait more than they work. */
export function playMatches(matches: readonly Match[], beside: number): void {
  const turns = new Turns(beside)
  for (const match of matches) {
    const { high, low, name } = match
    const [dies, byPlan] =
      high === 'holdfast' ? [', with its engine killed', [leavesByItsPlan]] : ['', [] as readonly Step[]]
    turns.test(
      `${name}: ${high} is elected before ${low}, which sends nothing, is followed when it is killed${dies} or leaves, and gets the address back`,
      (context) => play(match, [elects, takesOver, ...byPlan, leaves], context),
    )
    turns.test(
      `${name}: ${high} preempts ${low}, and after a cut with two Actives ${low} yields at the heal`,
      (context) => play(match, [preempts, heals], context),
    )
  }
}
