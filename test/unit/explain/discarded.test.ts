/** Which of two explanations of silence counts: advertisements that were discarded, or what the other node tells of itself. */
import { expect, test } from 'vitest'
import type { Fact, JournalEvent } from '../../../src/events/event.ts'
import { storyOf } from '../../../src/explain/story.ts'

const BEGIN = Date.parse('2026-11-22T21:00:00.000Z')
/** Of the takeover, in milliseconds from the begin. */
const TAKEOVER = 60_000
/** The last advertisement before it that was accepted. */
const HEARD = TAKEOVER - 3_200

type Made = Fact & { readonly ms: number; readonly because?: number }

const journal = (...facts: readonly Made[]): readonly JournalEvent[] =>
  facts.map(
    ({ ms, ...fact }, i): JournalEvent => ({
      ...fact,
      ...{ seq: i + 1, at: new Date(BEGIN + ms).toISOString(), monotonicMs: 1_000_000 + ms },
    }),
  )

const started: Made = {
  ...{ ms: 0, kind: 'started', pid: 7, hostname: 'node', version: '0.1.0', config: '/nowhere.yaml', guardian: true },
}

type Transition = Extract<Fact, { kind: 'transition' }>

const moves = (
  ms: number,
  self: string,
  rest: Pick<Transition, 'from' | 'to' | 'reason'> & Partial<Pick<Transition, 'heard'>> & { readonly because?: number },
): Made => ({
  ...{ ms, kind: 'transition', router: 'vip', vrid: 51, interface: 'eth0', priority: 150, interval: 1_000 },
  ...{ self, addresses: ['10.0.0.100'], decidedMs: 1_000_000 + ms },
  ...rest,
})

const [ONE, TWO] = ['10.0.0.1', '10.0.0.2']

/** The node that takes over. */
const second = (discardedAt: number) =>
  journal(
    ...[started, moves(1, TWO, { from: 'Initialize', to: 'Backup', reason: 'startup' })],
    ...[
      {
        ms: discardedAt,
        kind: 'packetsDiscarded',
        interface: 'eth0',
        reason: 'version',
        source: ONE,
        count: 3,
        router: 'vip',
      } as const,
      moves(TAKEOVER, TWO, {
        ...{ from: 'Backup', to: 'Active', reason: 'activeSilent' },
        heard: { peer: ONE, priority: 200, agoMs: TAKEOVER - HEARD },
      }),
    ].toSorted((a, b) => a.ms - b.ms),
  )

/** The node that was Active. */
const first = (...later: readonly Made[]) =>
  journal(started, moves(1, ONE, { from: 'Backup', to: 'Active', reason: 'activeSilent' }), ...later)

const LINK_LOST: readonly Made[] = [
  { ms: HEARD + 100, kind: 'linkChanged', interface: 'eth0', exists: true, up: true, carrier: false },
  moves(HEARD + 101, ONE, { from: 'Active', to: 'Initialize', reason: 'linkDown', because: 3 }),
]

function causeOf(discardedAt: number, other?: readonly JournalEvent[]): string | undefined {
  const journals = [
    { name: 'r2', events: second(discardedAt), running: true },
    ...(other === undefined ? [] : [{ name: 'r1', events: other, running: true }]),
  ]
  const { incidents } = storyOf(journals, { router: undefined, since: 0, problems: [] })
  return incidents.find(({ headline }) => headline.includes(' to r2'))?.cause
}

test.each<[string, number, readonly JournalEvent[] | undefined, string]>([
  [
    'before an advertisement that was accepted are not the cause; the link is',
    HEARD - 5_000,
    first(...LINK_LOST),
    'carrierLost',
  ],
  ['before an advertisement that was accepted are not the cause; the cut is', HEARD - 5_000, first(), 'cut'],
  ['before an advertisement that was accepted are not the cause, which is unknown', HEARD - 5_000, undefined, 'silent'],
  [
    'during the silence count less than the link that the other node lost',
    HEARD + 50,
    first(...LINK_LOST),
    'carrierLost',
  ],
  ['during the silence of a node that stays Active are the cause', HEARD + 900, first(), 'discarded'],
  ['during the silence of a node without a journal are the cause', HEARD + 900, undefined, 'discarded'],
  ['that are counted only after the takeover are the cause', TAKEOVER + 2_000, first(), 'discarded'],
])('packets that were discarded %s', (_, discardedAt, other, cause) => {
  expect(causeOf(discardedAt, other)).toBe(cause)
})
