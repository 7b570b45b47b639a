/**
 * What is done in every row of the interop matrix: election, preemption, takeover from a killed router, leaving, a cut
 * and its heal. One body for all neighbours and protocols; where a neighbour differs by nature the assertion says so.
 * Refuses to know which rows there are (match.ts) and how the two are observed (pair.ts).
 */
import { expect, type TestContext } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { sleep } from '../../src/lab/wait.ts'
import type { Frame } from '../../src/lab/watch/capture.ts'
import { Turns } from '../support/turns.ts'
import { activeDownIntervalOf, type Match, PRIORITY, skewTimeOf } from './match.ts'
import { Pair } from './pair.ts'

/** Both orders of first words after a heal come up: whoever speaks second may not know that there was a rival. */
const PHASES = [0, 0.29, 0.61, 0.13, 0.47, 0.83]
/** The announcements that follow a takeover would hide a stale neighbour entry. */
const ANNOUNCED = 5_500
/**
 * keepalived alone leaves a client without an answer for 3 s and more in every other heal. Who asks anew and is not heard
 * asks again after 1 s.
 */
const SILENCE = 2_500
/** For a busy machine: the bounds below tell one mechanism from another, they do not measure. */
const SLACK = 1_000
/** The same; whoever takes the address off first leaves the client for a Skew_Time, 600 ms. */
const HANDED_OVER = 300

type Context = Pick<TestContext, 'onTestFinished'>

async function open(match: Match, { onTestFinished }: Context): Promise<Pair> {
  const group = new Pair(match)
  onTestFinished(() => group.lab.destroy())
  await group.listen()
  return group
}

async function elects(match: Match, context: Context): Promise<void> {
  const group = await open(match, context)
  await group.start('high')
  await group.settlesOn('high', 'it started alone')
  await group.start('low')
  await sleep(Math.max(1_000, 1.5 * activeDownIntervalOf(match.protocol, PRIORITY.low)))
  await group.settlesOn('high', `${match.low} joined`)
  await group.bothAreContent()
  const frames = await group.wireIsClean()
  expect(group.from('low', frames), `advertisements of ${match.low} beside a better router`).toEqual([])
}

async function preempts(match: Match, context: Context): Promise<void> {
  const { high, low } = match
  const group = await open(match, context)
  await group.start('low')
  await group.settlesOn('low', 'it started alone')
  await group.start('high')
  await group.settlesOn('high', 'it joined')
  await sleep(Math.max(500, 1.5 * group.intervalMs))
  await group.settlesOn('high', 'it preempted')
  await group.bothAreContent()
  const frames = await group.wireIsClean()
  const last = group.from('low', frames).at(-1)
  const first = sinceSilence(group.from('high', frames), 3 * group.intervalMs)
  // The loser may send one last advertisement when its addresses are off (docs/architecture.md, Protocol decisions), no more.
  const late = group.from('low', frames).filter(({ at }) => Number(at) > Number(first?.at))
  expect(
    late.length,
    `advertisements of ${low} after the first of ${high}; last at ${last?.at}, first at ${first?.at}`,
  ).toBeLessThanOrEqual(2)
}

/**
 * The first of the last run without a silence of so many ms: a router that stops again while it starts (FRR, when its
 * macvlan comes up late) has to be followed by the other one, which is not late then.
 */
function sinceSilence(frames: readonly Frame[], silence: number): Frame | undefined {
  const begins = frames.filter(({ at }, i) => i === 0 || 1000 * (Number(at) - Number(frames[i - 1]?.at)) > silence)
  return begins.at(-1)
}

/** All processes of the Active die at once, as when its container is killed. */
async function takesOver(match: Match, context: Context): Promise<void> {
  const { high, low, protocol } = match
  const group = await open(match, context)
  await Promise.all([group.start('low'), group.start('high')])
  await group.settlesOn('high', 'both started')
  await group.bothAreContent()
  const at = group.daemon('high').killAll()
  await group.moves('low', `to be Active after ${high} was killed`)
  const down = activeDownIntervalOf(protocol, PRIORITY.low)
  expect(group.movedAfter('high', at), `ms until ${low} answered the client`).toBeLessThan(down + SLACK)
  // The dead node's kernel keeps the address: the next start of its daemon clears that up.
  await group.bothAreContent()
  await group.start('high')
  await group.settlesOn('high', 'it was started again')
  await group.bothAreContent()
  await group.wireIsClean()
}

/** The engine alone dies: the last will says priority 0 in its place, in the neighbour's dialect. */
async function leavesByItsWill(match: Match, context: Context): Promise<void> {
  const group = await open(match, context)
  await Promise.all([group.start('low'), group.start('high')])
  await group.settlesOn('high', 'both started')
  const at = group.daemon('high').killEngine()
  await group.settlesOn('low', 'the engine was killed')
  expect(group.movedAfter('high', at), 'ms until the successor answered the client').toBeLessThan(
    activeDownIntervalOf(match.protocol, PRIORITY.low) - group.intervalMs,
  )
  await group.bothAreContent()
  const frames = await group.wireIsClean()
  const zero = group.from('high', frames).filter(({ priority }) => priority === '0')
  expect(zero.length, 'advertisements of priority 0 in its name').toBeGreaterThan(0)
}

async function leaves(match: Match, context: Context): Promise<void> {
  const { high, low, protocol } = match
  const group = await open(match, context)
  await group.start('high')
  await group.settlesOn('high', 'it started alone')
  await group.start('low')
  // A newcomer must have heard the Active: it would take the end of its own start-up for a takeover otherwise.
  await sleep(2 * group.intervalMs)
  const leaver = group.daemon('high')
  await group.bothAreContent()
  const at = leaver.terminate()
  await group.settlesOn('low', `${high} was told to leave`)
  const skew = skewTimeOf(protocol, PRIORITY.low)
  expect(group.movedAfter('high', at), `ms until ${low} answered the client`).toBeLessThan(skew + SLACK)
  // holdfast answers until its successor is announced; the others take the address off first.
  const silence = leaver instanceof Holdfast ? HANDED_OVER : skew + SLACK
  expect(group.silenceSince(at), 'ms in which the client got no answer').toBeLessThan(silence)
  if (high !== 'frr')
    expect(await leaver.exited, `the end of ${high} after SIGTERM`).toMatchObject({ code: 0, signal: null })
  await group.bothAreContent()
  await group.start('high')
  await group.settlesOn('high', 'it was started again')
  await group.bothAreContent()

  const frames = await group.wireIsClean()
  const zero = group.from('high', frames).find(({ priority }) => priority === '0')
  const successor = group.from('low', frames)[0]
  expect(zero, `an advertisement of priority 0 from ${high}`).toBeDefined()
  expect(Number(zero?.at), `priority 0 of ${high} before the first advertisement of ${low}`).toBeLessThan(
    Number(successor?.at),
  )
}

async function heals(match: Match, context: Context): Promise<void> {
  const { high } = match
  const group = await open(match, context)
  await Promise.all([group.start('low'), group.start('high')])
  await group.settlesOn('high', 'both started')
  await sleep(ANNOUNCED)
  const healedAt: number[] = []
  // A cut costs seconds where the interval is one.
  for (const phase of PHASES.slice(0, group.intervalMs > 100 ? 2 : PHASES.length)) {
    group.lab.cut(group.high.host)
    await group.splits()
    await group.moves('low', `to answer the client while ${high} is cut off`)
    const later = (phase + (group.intervalMs > 100 ? 0 : 3)) * group.intervalMs
    await sleep(later)
    healedAt.push(Date.now() / 1_000)
    const at = group.lab.heal(group.high.host)
    const occasion = `a heal ${later.toFixed(0)} ms after the split`
    await group.isElected('high', occasion)
    // FRR does not know that there was a rival and does not announce again: the client finds it when it asks anew.
    if (high === 'frr') group.clientForgets()
    await group.settlesOn('high', occasion)
    const entry = high === 'frr' ? 'whose neighbour entry was flushed' : 'with its cached neighbour entry'
    expect(group.silenceSince(at), `ms in which the client, ${entry}, got no answer`).toBeLessThan(SILENCE)
    await sleep(2 * group.intervalMs)
  }
  await group.bothAreContent()
  const frames = await group.wireIsClean()
  if (high === 'frr')
    expect(
      group.announcedByFrr(frames).filter(({ at }) => Number(at) > Number(healedAt[0])),
      'announcements of FRR 8.4 after a heal that it won: it is known to send none',
    ).toEqual([])
}

/** Five tests a row, six where ours is the one that dies. `beside`: so many at once, because they wait more than they work. */
export function playMatches(matches: readonly Match[], beside: number): void {
  const turns = new Turns(beside)
  for (const match of matches) {
    const { high, low, name } = match
    const play = (title: string, body: (match: Match, context: Context) => Promise<void>) =>
      turns.test(`${name}: ${title}`, (context) => body(match, context))
    play(`${high} is elected before ${low}, which never speaks`, elects)
    play(`${high} comes second and preempts ${low}`, preempts)
    play(`${low} takes over from a killed ${high} and gives it back`, takesOver)
    if (high === 'holdfast') play(`${low} follows the last will of ${high}`, leavesByItsWill)
    play(`${high} leaves, ${low} follows, ${high} comes back`, leaves)
    play(`${low} is Active beside a cut off ${high} and gives way after the heal`, heals)
  }
}
