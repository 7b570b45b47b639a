/**
 * `holdfast explain` on a node whose peers do not answer. The printed story has the cause from the node's own journal,
 * the peers from the node's configuration, the present faults, and what is unknown. The journals come from real daemons
 * (test/samples/journals), or were written in the same form.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { explainCommand } from '../../../src/cli/explain/explain.ts'
import type { Fact, JournalEvent } from '../../../src/events/event.ts'
import { eventsIn } from '../../../src/events/journal-file.ts'
import { type Story, storyOf } from '../../../src/explain/story.ts'
import { formatStory } from '../../../src/explain/story-text.ts'
import type { ListedPeers, NodeJournal } from '../../../src/explain/timeline.ts'

const SAMPLES = join(import.meta.dirname, '..', '..', 'samples', 'journals')
const sample = (name: string, node: string): readonly JournalEvent[] =>
  eventsIn(readFileSync(join(SAMPLES, name, `${node}.jsonl`), 'utf8'))

const LISTED: ListedPeers = new Map([['vip', new Set(['10.77.0.11', '10.77.0.12', '10.77.0.13'])]])
const BEGIN = Date.parse('2026-11-22T21:00:00.000Z')

type Made = Fact & { readonly ms: number; readonly because?: number }

/** Builds events of one node; `ms` counts from the begin. */
const made = (...facts: readonly Made[]): readonly JournalEvent[] =>
  facts.map(
    ({ ms, ...fact }, i): JournalEvent => ({
      ...fact,
      ...{ seq: i + 1, at: new Date(BEGIN + ms).toISOString(), monotonicMs: 1_000_000 + ms },
    }),
  )

const started = (ms: number): Made => ({
  ...{ ms, kind: 'started', pid: 7, hostname: 'node1', version: '0.1.0', config: '/nowhere.yaml', guardian: true },
})

type Transition = Extract<Fact, { kind: 'transition' }>

type Rest = Pick<Transition, 'from' | 'to' | 'reason'> &
  Partial<Pick<Transition, 'self' | 'peer' | 'priority' | 'heard'>> & { readonly because?: number }

/** Builds a transition of the routers web4 or web6, which are members of one sync group. */
const moves = (ms: number, name: 'web4' | 'web6', rest: Rest): Made => ({
  ...{
    ms,
    kind: 'transition',
    router: name,
    group: 'web',
    vrid: 51,
    interface: 'eth0',
    priority: 150,
    interval: 1_000,
  },
  ...{ self: name === 'web4' ? '10.44.0.11' : 'fe80::11', addresses: [name === 'web4' ? '10.44.0.100' : 'fd44::100'] },
  ...{ decidedMs: 1_000_000 + ms },
  ...rest,
})

const ACTIVE = { from: 'Backup', to: 'Active', reason: 'activeDemoted' } as const

const WEB: ListedPeers = new Map([
  ['web4', new Set(['10.44.0.11', '10.44.0.12', '10.44.0.13'])],
  ['web6', new Set<string>()],
])

function tell(events: readonly JournalEvent[], more: Partial<NodeJournal> = {}, listed = WEB, since = 0): Story {
  return storyOf([{ name: 'node1', events, running: true, ...more }], {
    router: undefined,
    since,
    problems: [],
    listed,
  })
}

const headlines = ({ incidents }: Story) => incidents.map(({ headline }) => headline)
const last = (story: Story) => story.incidents.at(-1)

describe('explain on the node that loses the address', () => {
  test('finds the check that failed in its own journal', () => {
    const told = tell(sample('check-fails', 'r1'), { name: 'r1' }, LISTED)
    expect(last(told)).toMatchObject({ cause: 'checkFailed', noticedBy: 'r1' })
    expect(last(told)?.headline).toBe(
      'vip (10.77.0.100) moved from r1 to 10.77.0.12: health check service failed on r1.',
    )
    expect(last(told)?.steps[0]?.words).toMatch(/^health check service: up → down/)
  })

  test('finds the reload that lowered its priority', () => {
    const told = tell(sample('reload', 'r1'), { name: 'r1' }, LISTED)
    expect(last(told)).toMatchObject({ cause: 'reloaded' })
    expect(last(told)?.headline).toMatch(/moved from r1 to 10\.77\.0\.12: a reload changed the configuration on r1/)
  })

  test('names a listed peer that has the higher priority, without advice against a mismatched router', () => {
    const told = tell(sample('check-fails', 'r2'), { name: 'r2' }, LISTED)
    const lost = told.incidents.find(({ headline }) => headline.includes('moved from r2'))
    expect(lost?.headline).toBe(
      'vip (10.77.0.100) moved from r2 to 10.77.0.11: listed peer 10.77.0.11 has higher priority (200 > 180) and took over.',
    )
    expect(lost?.prevention).not.toMatch(/onlyListedPeers|stranger/)
  })

  test('says that the journal of an unlisted router is missing', () => {
    const told = tell(sample('check-fails', 'r2'), { name: 'r2' }, new Map([['vip', new Set(['10.77.0.13'])]]))
    const lost = told.incidents.find(({ headline }) => headline.includes('moved from r2'))
    expect(lost).toMatchObject({ cause: 'outranked' })
    expect(lost?.headline).toMatch(
      /10\.77\.0\.11 has higher priority \(200 > 180\) and took over; the journal of 10\.77\.0\.11 was not read/,
    )
    expect(lost?.prevention).toContain('onlyListedPeers')
  })

  test('says after link down that the address left this node, and does not name the consequences', () => {
    const told = tell(sample('carrier-lost', 'r1'), { name: 'r1' }, LISTED)
    expect(headlines(told).at(-1)).toMatch(/^vip \(10\.77\.0\.100\) left r1: r1 lost its link\.$/)
    expect(told.incidents.filter(({ cause }) => cause === 'networkMoved' || cause === 'fault')).toEqual([])
  })

  test.each([
    ['sigterm', /^vip \(10\.77\.0\.100\) (left r1|moved from r1 to 10\.77\.0\.12): r1 was ordered to stop/],
    ['yield', /^vip \(10\.77\.0\.100\) moved from r1 to 10\.77\.0\.12: an operator ordered r1 to yield/],
  ])('%s', (name, headline) => {
    expect(headlines(tell(sample(name, 'r1'), { name: 'r1', running: name !== 'sigterm' }, LISTED)).at(-1)).toMatch(
      headline,
    )
  })
})

describe('explain for two routers of one sync group', () => {
  const lost = (router: 'web4' | 'web6', peer: string, ms: number, because: number): Made =>
    moves(ms, router, {
      from: 'Active',
      to: 'Backup',
      reason: 'higherPriorityHeard',
      priority: 90,
      peer,
      because,
    })
  const events = made(
    started(0),
    moves(1, 'web4', { from: 'Backup', to: 'Active', reason: 'activeSilent' }),
    moves(2, 'web6', { from: 'Backup', to: 'Active', reason: 'activeSilent' }),
    { ms: 60_000, kind: 'peerHeard', router: 'web6', peer: 'fe80::12', priority: 120, news: 'active' },
    lost('web4', '10.44.0.12', 60_001, 4),
    lost('web6', 'fe80::12', 60_002, 4),
  )

  test('tells one story, from the member that knows its peer', () => {
    const told = tell(events)
    const moved = told.incidents.filter(({ headline }) => headline.includes('moved from node1'))
    expect(moved).toHaveLength(1)
    expect(moved[0]).toMatchObject({ cause: 'preempted', routers: ['web4', 'web6'] })
    expect(moved[0]?.headline).toMatch(/^web4, web6 moved from node1 to 10\.44\.0\.12: listed peer 10\.44\.0\.12 has/)
  })

  test('does not call a member that follows the other member a fault', () => {
    const told = tell(
      made(
        started(0),
        moves(1, 'web4', { from: 'Backup', to: 'Active', reason: 'activeSilent' }),
        moves(2, 'web6', { from: 'Backup', to: 'Active', reason: 'activeSilent' }),
        { ms: 60_000, kind: 'peerHeard', router: 'web4', peer: '10.44.0.12', priority: 200, news: 'active' },
        lost('web4', '10.44.0.12', 60_001, 4),
        moves(60_002, 'web6', { from: 'Active', to: 'Backup', reason: 'syncGroup:web4' }),
      ),
    )
    const moved = told.incidents.filter(({ headline }) => headline.includes('node1 to 10.44.0.12'))
    expect(moved).toMatchObject([{ routers: ['web4', 'web6'] }])
    const alone = storyOf(
      [{ name: 'node1', events: made(moves(2, 'web6', { from: 'Active', to: 'Backup', reason: 'syncGroup:web4' })) }],
      {
        ...{ router: undefined, since: 0, problems: [] },
      },
    )
    expect(alone.incidents[0]?.steps[0]?.words).toBe(
      'web6 (web) Active → Backup with priority 150: it follows web4 (sync group web)',
    )
  })

  test('does not make the following member the story, whichever member comes first', () => {
    const told = tell(
      made(
        started(0),
        moves(1, 'web4', { from: 'Backup', to: 'Active', reason: 'activeSilent' }),
        moves(2, 'web6', { from: 'Backup', to: 'Active', reason: 'activeSilent' }),
        moves(60_000, 'web6', { from: 'Active', to: 'Backup', reason: 'syncGroup:web4' }),
        { ms: 60_001, kind: 'peerHeard', router: 'web4', peer: '10.44.0.12', priority: 200, news: 'active' },
        lost('web4', '10.44.0.12', 60_002, 5),
      ),
    )
    expect(headlines(told).at(-1)).toMatch(
      /web6, web4 moved from node1 to 10\.44\.0\.12: listed peer 10\.44\.0\.12 has higher/,
    )
  })

  test('attributes advertisements to the IPv6 member to the listed node that the IPv4 member follows', () => {
    const heard = (peer: string) => ({ heard: { peer, priority: 90, agoMs: 500 }, because: 4 })
    const told = tell(
      made(
        started(0),
        moves(1, 'web4', { from: 'Initialize', to: 'Backup', reason: 'startup', self: '10.44.0.12' }),
        moves(2, 'web6', { from: 'Initialize', to: 'Backup', reason: 'startup', self: 'fe80::12' }),
        {
          ...{ ms: 60_000, kind: 'peerHeard', router: 'web6', peer: 'fe80::11', priority: 90, news: 'lowered' },
          previous: { peer: 'fe80::11', priority: 150 },
        },
        moves(60_540, 'web4', { ...ACTIVE, self: '10.44.0.12', ...heard('10.44.0.11') }),
        moves(60_540, 'web6', { ...ACTIVE, self: 'fe80::12', ...heard('fe80::11') }),
      ),
    )
    expect(headlines(told)).toEqual([
      'web4, web6 moved from 10.44.0.11 to node1: listed peer 10.44.0.11 lowered its priority (150 → 90); for the reason read the journal of that node (--peer URL).',
    ])
    expect(told.incidents[0]?.steps[0]?.words).toBe('heard that 10.44.0.11 has priority 90 instead of 150')
  })

  test('accepts the name of the group', () => {
    const told = storyOf([{ name: 'node1', events }], {
      router: 'web',
      since: BEGIN + 30_000,
      problems: [],
      listed: WEB,
    })
    expect(told.incidents).toHaveLength(1)
  })
})

describe('explain with the journals of both nodes', () => {
  const begun = (self: string, self6: string): readonly Made[] => [
    started(0),
    moves(1, 'web4', { from: 'Backup', to: 'Active', reason: 'activeSilent', self }),
    moves(2, 'web6', { from: 'Backup', to: 'Active', reason: 'activeSilent', self: self6 }),
  ]
  const both = (one: Partial<NodeJournal>, other: readonly Made[]): Story =>
    storyOf(
      [
        { name: 'node1', running: true, events: made(...begun('10.44.0.11', 'fe80::11')), ...one },
        { name: 'node2', running: true, events: made(...other) },
      ],
      { router: undefined, since: BEGIN + 10_000, problems: [], listed: WEB },
    )

  test('tells a healed cut as one story, also for the member that follows the other one', () => {
    const told = both({}, [
      ...begun('10.44.0.12', 'fe80::12'),
      { ms: 60_000, kind: 'peerHeard', router: 'web4', peer: '10.44.0.11', priority: 200, news: 'active' },
      moves(60_001, 'web4', {
        ...{ from: 'Active', to: 'Backup', reason: 'higherPriorityHeard', peer: '10.44.0.11', because: 4 },
        self: '10.44.0.12',
      }),
      moves(60_002, 'web6', { from: 'Active', to: 'Backup', reason: 'syncGroup:web4', self: 'fe80::12' }),
    ])
    expect(told.incidents.map(({ cause }) => cause)).toEqual(['healed'])
  })

  test('names an engine that does not answer and has recorded nothing since as the cause', () => {
    const took = [
      started(0),
      moves(1, 'web4', { from: 'Initialize', to: 'Backup', reason: 'startup', self: '10.44.0.12' }),
      { ms: 60_000, kind: 'peerHeard', router: 'web4', peer: '10.44.0.11', priority: 0, news: 'released' },
      moves(60_500, 'web4', {
        ...{ from: 'Backup', to: 'Active', reason: 'activeReleased', self: '10.44.0.12', because: 3 },
        heard: { peer: '10.44.0.11', priority: 150, agoMs: 3_000 },
      }),
    ] as const
    const frozen = both({ running: undefined, stuck: true }, took)
    expect(headlines(frozen)).toEqual([
      'web4 (10.44.0.100) moved from node1 to node2: the engine of node1 did not run (frozen, no CPU, or the machine was paused).',
    ])
    const answers = both({ running: undefined }, took)
    expect(
      answers.incidents.map(({ cause }) => cause),
      'without that it is not known',
    ).toEqual(['released'])
  })
})

describe('explain on a third node', () => {
  const events = made(
    started(0),
    moves(1, 'web4', { from: 'Initialize', to: 'Backup', reason: 'startup', self: '10.44.0.13' }),
    { ms: 100, kind: 'peerHeard', router: 'web4', peer: '10.44.0.11', priority: 150, news: 'active' },
    {
      ...{ ms: 60_000, kind: 'peerHeard', router: 'web4', peer: '10.44.0.11', priority: 90, news: 'lowered' },
      previous: { peer: '10.44.0.11', priority: 150 },
    },
    {
      ...{ ms: 60_540, kind: 'peerHeard', router: 'web4', peer: '10.44.0.12', priority: 120, news: 'active' },
      previous: { peer: '10.44.0.11', priority: 90 },
    },
  )

  test('tells the move that the node received, and which node to ask', () => {
    expect(headlines(tell(events, { name: 'node3' }))).toEqual([
      'web4 (10.44.0.100) moved from 10.44.0.11 to 10.44.0.12, as node3 heard: listed peer 10.44.0.11 lowered its priority (150 → 90); for the reason read the journal of that node (--peer URL).',
    ])
  })
})

describe('explain on a third node in a split brain', () => {
  const LATER = BEGIN + 3_600_000
  const several = (ms: number, present: boolean, router: 'web4' | 'web6' = 'web4'): Made => {
    const [one, other] = router === 'web4' ? ['10.44.0.11', '10.44.0.12'] : ['fe80::11', 'fe80::12']
    const actives = [
      { peer: one ?? '', priority: 150 },
      { peer: other ?? '', priority: 120 },
    ]
    return { ms, kind: 'twoActives', router, present, actives, forMs: present ? 1_000 : ms - 60_000 }
  }
  const backup = [
    started(0),
    moves(1, 'web4', { from: 'Initialize', to: 'Backup', reason: 'startup', self: '10.44.0.13' }),
    moves(2, 'web6', { from: 'Initialize', to: 'Backup', reason: 'startup', self: 'fe80::13' }),
    { ms: 100, kind: 'peerHeard', router: 'web4', peer: '10.44.0.11', priority: 150, news: 'active' },
  ] as const
  const SPLIT =
    "web4 (10.44.0.100): listed peer 10.44.0.11 and listed peer 10.44.0.12 are both Active, as node3 hears: they do not receive each other's advertisements (firewall? switch?)"
  const texts = ({ now }: Story) => now.map(({ words }) => words)

  test('names both Actives during the split brain, also if it began before --since', () => {
    const events = made(...backup, several(61_000, true), several(61_001, true, 'web6'))
    const told = tell(events, { name: 'node3' })
    expect(headlines(told)).toEqual([
      'node3: hears 2 routers advertise as Active for web4: listed peer 10.44.0.11 (priority 150) and listed peer 10.44.0.12 (priority 120).',
    ])
    expect(told.incidents[0]).toMatchObject({ cause: 'twoActives', prevention: expect.stringMatching(/packet filter/) })
    const later = tell(events, { name: 'node3' }, WEB, LATER)
    expect([texts(later)[0], later.incidents]).toEqual([SPLIT, []])
    expect(later.now[0]?.since).toBe(new Date(BEGIN + 60_000).toISOString())
    expect(formatStory(later, 'in the last 10s')).not.toContain('Nothing has happened')
  })

  test('tells the duration after the split brain, also if it began before --since', () => {
    const events = made(...backup, several(61_000, true), several(3_600_500, false))
    const told = tell(events, { name: 'node3' }, WEB, LATER)
    expect(texts(told)).toEqual([])
    expect(headlines(told)).toEqual([
      expect.stringMatching(/^node3: hears 2 routers advertise as Active .*; for 59 min\.$/),
    ])
    expect(told.incidents[0]?.steps.map(({ words }) => words)).toEqual([
      expect.stringMatching(/^hears 2 routers/),
      expect.stringMatching(/^web4: no longer several Actives, after 59 min/),
    ])
  })

  test('adds nothing if the journals of both Actives tell the split brain', () => {
    const active = (self: string) =>
      made(started(0), moves(1, 'web4', { from: 'Backup', to: 'Active', reason: 'activeSilent', self }))
    const journals = [
      { name: 'node3', events: made(...backup, several(61_000, true)), running: true },
      { name: 'node1', events: active('10.44.0.11'), running: true },
      { name: 'node2', events: active('10.44.0.12'), running: true },
    ]
    const told = storyOf(journals, { router: undefined, since: 0, problems: [], listed: WEB })
    expect(told.incidents.filter(({ cause }) => cause === 'twoActives')).toEqual([])
    expect(texts(told)).toEqual([expect.stringMatching(/^web4 \(10\.44\.0\.100\): node1 and node2 are both Active/)])
    const [own, other] = journals
    const one = storyOf(
      [own, other].flatMap((each) => each ?? []),
      { router: undefined, since: 0, problems: [], listed: WEB },
    )
    expect(texts(one)).toEqual([
      expect.stringMatching(/: node1 and listed peer 10\.44\.0\.12 are both Active, as node3 hears/),
    ])
  })

  test('does not call it a move if the node then follows the better Active', () => {
    const better: Made = {
      ...{ ms: 60_000, kind: 'peerHeard', router: 'web4', peer: '10.44.0.12', priority: 200, news: 'active' },
      previous: { peer: '10.44.0.11', priority: 150 },
    }
    const told = tell(made(...backup, better, several(61_000, true)), { name: 'node3' })
    expect(told.incidents.map(({ cause }) => cause)).toEqual(['twoActives'])
  })
})

describe('explain about present faults', () => {
  const active = [started(0), moves(1, 'web4', { from: 'Backup', to: 'Active', reason: 'activeSilent' })] as const
  const LATER = BEGIN + 3_600_000
  const texts = ({ now }: Story) => now.map(({ words }) => words)

  test('names an engine that died without a release', () => {
    const told = tell(made(...active), { running: false }, WEB, LATER)
    expect(texts(told)).toEqual([
      expect.stringMatching(
        /^node1: holdfast does not run: the engine \(pid 7\) crashed or was killed; the engine was Active for web4 \(10\.44\.0\.100\)/,
      ),
    ])
    expect(formatStory(told, 'in the last 10s')).not.toContain('Nothing has happened')
  })

  test('names an engine that does not answer', () => {
    const told = tell(made(...active), { running: undefined, stuck: true }, WEB, LATER)
    expect(texts(told)).toEqual([
      expect.stringMatching(/process is running but not responding \(frozen or no CPU\); Active for web4/),
    ])
    expect(formatStory(told, 'in the last 10s')).not.toContain('Nothing has happened')
  })

  const duplicate = (ms: number, more: object): Made => ({
    ...{ ms, kind: 'duplicateHolder', router: 'web4', address: '10.44.0.100', mac: '02:00:00:00:00:12' },
    ...{ present: true, reaction: 'announce', ...more },
  })

  test('names a split brain with a listed peer that began before --since', () => {
    const told = tell(made(...active, duplicate(5_000, { peer: '10.44.0.12' })), {}, WEB, LATER)
    expect(texts(told)).toEqual([
      expect.stringMatching(
        /^web4 \(10\.44\.0\.100\): node1 and listed peer 10\.44\.0\.12 both answer for it: they do not receive/,
      ),
    ])
    expect(formatStory(told, 'in the last 15s')).not.toContain('Nothing has happened')
  })

  test('names two Actives if two journals both end as Active', () => {
    const other = made(
      started(0),
      moves(3_000, 'web4', { from: 'Backup', to: 'Active', reason: 'activeSilent', self: '10.44.0.12' }),
    )
    const journals = [
      { name: 'node1', events: made(...active), running: true },
      { name: 'node2', events: other, running: true },
    ]
    const told = storyOf(journals, { router: undefined, since: LATER, problems: [], listed: WEB })
    expect(texts(told)).toEqual([expect.stringMatching(/^web4 \(10\.44\.0\.100\): node1 and node2 are both Active/)])
  })

  test('names a failed check of the Active, a fault and a refused reload, until each of them ends', () => {
    const check = (ms: number, from: 'up' | 'down', to: 'up' | 'down'): Made => ({
      ...{ ms, kind: 'checkChanged', check: 'web', from, to, reason: 'connectionRefused' },
      effects: [{ router: 'web4', adds: to === 'down' ? -60 : 0 }],
    })
    const fault = (ms: number, present: boolean): Made => ({
      ...{ ms, kind: 'faultChanged', router: 'web4', fault: 'vridTaken', present },
    })
    const reload = (ms: number, ok: boolean): Made => ({ ms, kind: 'reloaded', ok, reason: 'invalid' })
    const wrong = [...active, check(2_000, 'up', 'down'), fault(2_001, true), reload(2_002, false)]
    expect(texts(tell(made(...wrong)))).toEqual([
      'health check web is down on node1, which is Active for web4 (10.44.0.100) (connection refused)',
      'node1: web4: fault: vridTaken (another router of this node has its VRID)',
      'node1: cannot reload its configuration (invalid); the earlier configuration is in force',
    ])
    const over = [...wrong, check(3_000, 'down', 'up'), fault(3_001, false), reload(3_002, true)]
    expect(texts(tell(made(...over)))).toEqual([])
    expect(texts(tell(made(...wrong, started(9_000)))), 'a new run').toEqual([])
  })

  test('advises neither duplicateAllowed nor the removal of the address in a split brain with a listed peer', () => {
    const told = tell(made(...active, duplicate(5_000, { peer: '10.44.0.12' })))
    const found = told.incidents.find(({ cause }) => cause === 'duplicateHolder')
    expect(found?.headline).toContain('listed peer 10.44.0.12')
    expect(found?.prevention).toMatch(/check packet filter and switch/)
    expect(found?.prevention).not.toContain('duplicateAllowed')
    const sixth = { router: 'web6', address: 'fd44::100', peer: 'fe80::12' }
    const both = tell(made(...active, duplicate(5_000, { peer: '10.44.0.12' }), duplicate(5_001, sixth)))
    expect(
      both.incidents.map(({ prevention }) => prevention),
      'the same host',
    ).not.toContainEqual(expect.stringContaining('duplicateAllowed'))
    expect(texts(both)).toContainEqual(
      expect.stringMatching(/^web6 \(fd44::100\): node1 and listed peer 10\.44\.0\.12 both answer/),
    )
    const unknown = tell(made(...active, duplicate(5_000, {})))
    expect(unknown.incidents.find(({ cause }) => cause === 'duplicateHolder')?.prevention).toContain('duplicateAllowed')
  })
})

test('counts minHold as a part of the duration of a move', () => {
  const events = made(
    started(0),
    moves(1, 'web4', { from: 'Initialize', to: 'Backup', reason: 'startup' }),
    {
      ...{ ms: 60_000, kind: 'peerHeard', router: 'web4', peer: '10.44.0.12', priority: 90, news: 'lowered' },
      ...{
        previous: { peer: '10.44.0.12', priority: 150 },
        heldBy: { why: 'minHold', forMs: 10_000, movedAgoMs: 2_500 },
      },
    },
    moves(62_600, 'web4', { from: 'Backup', to: 'Active', reason: 'lowerPriorityActive', because: 3 }),
  )
  const text = formatStory(tell(events), 'ever')
  expect(text).toContain('fast takeover is off for 10 s after a move (minHold), and the VIP moved 2.5 s ago')
  expect(text).toMatch(/node1 waited 2\.6 s \(minHold: the VIP had moved 2\.5 s before\)/)
})

test('tells the end of a yield as its cause', () => {
  const events = sample('one-after-the-other', 'r1')
  const told = tell(events, { name: 'r1' }, LISTED)
  const back = told.incidents.filter(({ cause, headline }) => cause === 'yielded' && headline.includes('to r1'))
  expect(back.map(({ headline }) => headline)).toEqual([expect.stringContaining('yield period ended on r1')])
})

describe('holdfast explain', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-explain-'))
    const config = join(folder, 'holdfast.yaml')
    const events = sample('check-fails', 'r1').map((event) => (event.kind === 'started' ? { ...event, config } : event))
    writeFileSync(join(folder, 'events.jsonl'), events.map((event) => `${JSON.stringify(event)}\n`).join(''))
    writeFileSync(
      config,
      `api: { peers: ["http://127.0.0.2:1", "http://127.0.0.1:1"] }
virtualRouters:
  - { name: vip, vrid: 51, interface: eth0, addresses: [10.77.0.100], peers: [10.77.0.11, 10.77.0.12] }
`,
    )
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const run = (more: object = {}) =>
    explainCommand({
      ...{
        socket: join(folder, 'holdfast.sock'),
        router: undefined,
        since: '2026-01-01T00:00:00Z',
        peers: [],
        json: true,
      },
      ...more,
    })
  const story = async (more: object = {}): Promise<Story> => JSON.parse((await run(more)).stdout)

  test('asks the nodes of api.peers except its own, and names nodes that do not answer', async () => {
    const { problems } = await story()
    expect(problems.filter((each) => each.startsWith('peer '))).toEqual([
      expect.stringMatching(/^peer http:\/\/127\.0\.0\.2:1 \(api\.peers\) did not answer: /),
    ])
    expect((await story({ asksPeers: false })).problems.filter((each) => each.startsWith('peer '))).toEqual([])
  })

  test('shows events once if the journal of its own node is given as a peer', async () => {
    const [once, twice] = [await story(), await story({ peers: [join(folder, 'events.jsonl')] })]
    expect(twice.nodes).toHaveLength(1)
    expect(twice.incidents).toEqual(once.incidents)
  })

  test('tells two nodes apart whose first events have the same number and times', async () => {
    const [first, ...others] = sample('check-fails', 'r2')
    const [own] = sample('check-fails', 'r1')
    if (first === undefined || own === undefined) throw new Error('The samples have no event')
    const { at, monotonicMs, seq } = own
    const file = join(folder, 'peer.jsonl')
    const lines = [{ ...first, at, monotonicMs, seq }, ...others].map((event) => `${JSON.stringify(event)}\n`)
    writeFileSync(file, lines.join(''))
    expect((await story({ peers: [file] })).nodes).toHaveLength(2)
  })

  test('fails for a wrong name, and names the nearest name', async () => {
    expect(await run({ router: 'vipp' })).toEqual({
      ...{ exitCode: 64, stdout: '' },
      stderr: 'holdfast: no virtual router or sync group is called "vipp": did you mean "vip"?\n',
    })
    expect((await run({ router: 'vip' })).exitCode).toBe(0)
  })

  test('adds a note if the configuration cannot be read', async () => {
    rmSync(join(folder, 'holdfast.yaml'))
    expect((await story()).problems).toContainEqual(
      expect.stringMatching(/^Cannot use the configuration .*: the nodes of api\.peers are not asked/),
    )
  })
})
