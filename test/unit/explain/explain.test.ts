/**
 * Journals that real daemons wrote while a real fault was done to them (test/samples/journals/README.md): the story must
 * name that fault.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { JournalEvent } from '../../../src/events/event.ts'
import { eventsIn } from '../../../src/events/journal-file.ts'
import { CAUSES, type Cause, PREVENTION } from '../../../src/explain/cause.ts'
import { type Story, storyOf } from '../../../src/explain/story.ts'
import { formatStory } from '../../../src/explain/story-text.ts'
import type { NodeJournal } from '../../../src/explain/timeline.ts'
import { KINDS, VARIANTS } from '../../chaos/plan.ts'
import { SENTENCES } from '../../chaos/sentences.ts'
import { expectPart, markdownTable } from '../../support/generated-document.ts'

const SAMPLES = join(import.meta.dirname, '..', '..', 'samples', 'journals')

type Told = { readonly from?: 'r1' | 'r2'; readonly alone?: boolean; readonly running?: boolean }

function story(name: string, { from = 'r2', alone = false, running }: Told = {}): Story {
  const journal = (node: string) => ({
    name: node,
    events: eventsIn(readFileSync(join(SAMPLES, name, `${node}.jsonl`), 'utf8')),
    ...(running === undefined || node === 'r2' ? {} : { running }),
  })
  const other = from === 'r1' ? 'r2' : 'r1'
  const journals = [journal(from), ...(alone ? [] : [journal(other)])]
  return storyOf(journals, { router: undefined, since: Number.NEGATIVE_INFINITY, problems: [] })
}

const FAULTS: readonly (readonly [string, Cause, Told])[] = [
  ['engine-killed', 'engineDied', { running: false }],
  ['engine-frozen', 'engineAway', { running: true }],
  ['group-killed', 'nodeDied', { running: false }],
  ['sigterm', 'stopped', { running: false }],
  ['yield', 'yielded', { running: true }],
  ['cable-cut', 'cut', { running: true }],
  ['carrier-lost', 'carrierLost', { running: true }],
  ['check-fails', 'checkFailed', { running: true }],
  ['reload', 'reloaded', { running: true }],
  ['foreign-removal', 'foreignChange', { running: true }],
  ['duplicate', 'duplicateHolder', { running: true }],
]

describe.each(['r1', 'r2'] as const)('told by %s', (from) => {
  test.each(FAULTS)('%s: the story names %s', (name, cause, options) => {
    const told = story(name, { ...options, from })
    const begin = told.incidents.findLastIndex(({ cause }) => cause === 'started')
    expect(told.incidents.slice(begin + 1).map((each) => each.cause)).toContain(cause)
  })
})

test('several faults in sequence give one story each, in order', () => {
  const told = story('one-after-the-other', { running: false }).incidents.map(({ cause }) => cause)
  const wanted: readonly Cause[] = [
    ...([
      'foreignChange',
      'duplicateHolder',
      'checkFailed',
      'checkPassed',
      'reloaded',
      'reloaded',
      'yielded',
      'yielded',
    ] as const),
    ...(['cut', 'healed', 'carrierLost', 'preempted', 'engineAway', 'preempted', 'stopped', 'preempted'] as const),
    ...(['engineDied', 'nodeDied'] as const),
  ]
  let from = 0
  const found = wanted.filter((cause) => {
    const at = told.indexOf(cause, from)
    if (at >= 0) from = at + 1
    return at >= 0
  })
  expect(found, `of ${told.join(', ')}`).toEqual(wanted)
})

describe('without the journal of the other node', () => {
  test.each([
    ['engine-killed', 'released'],
    ['sigterm', 'released'],
    ['group-killed', 'silent'],
    ['carrier-lost', 'silent'],
    ['check-fails', 'released'],
  ] as const)('%s: the story says that it does not know', (name, cause) => {
    const { incidents } = story(name, { alone: true })
    const moved = incidents.at(-1)
    expect(moved?.cause).toBe(cause)
    expect(moved?.headline).toMatch(/for the reason read the journal of that node \(--peer URL\)/)
    expect(moved?.prevention).toContain('--peer')
  })

  test('a silent node is not reported as a network cut if it is unknown whether it runs', () => {
    expect(story('group-killed').incidents.at(-1)?.cause).toBe('silent')
  })
})

describe('the text', () => {
  test('the story of a failed service names the first node, each step, the time of each phase and the prevention', () => {
    const told = story('check-fails', { running: true })
    const text = formatStory(told, 'ever').split('\n\n').at(-1) ?? ''
    const lines = text.trimEnd().split('\n')
    expect(lines[0]).toMatch(
      /^2026-11-22T\S+Z {2}vip \(10\.77\.0\.100\) moved from r1 to r2: health check service failed on r1\.$/,
    )
    expect(lines.slice(1, 4)).toEqual([
      expect.stringMatching(/^ +\+0 ms {2}r1 {2}health check service: up → down, not there/),
      expect.stringMatching(/^ +\+\S+ ms {2}r1 {2}advertises priority 150 instead of 200/),
      expect.stringMatching(/^ +\+\S+ ms {2}r2 {2}heard that r1 has priority 150 instead of 200$/),
    ])
    expect(lines.at(-2)).toMatch(
      /^ {2}detected by r1; r2 heard it after \S+ ms; r2 waited \S+ s; VIP installed after \S+ ms/,
    )
    expect(lines.at(-1)).toMatch(
      /^ {2}To avoid: fix the service that the health check tests; the failover worked as configured\./,
    )
  })

  test('the story names the difference between clocks and its source', () => {
    expect(formatStory(story('check-fails'), 'ever')).toMatch(
      /^note: the clock of r1 is \S+ ms (behind|ahead of) the clock of this node, ±\S+ ms, measured by \d+ transmissions between the two nodes\n/,
    )
  })

  test('the story of no events says so', () => {
    expect(formatStory(storyOf([], { router: undefined, since: 0, problems: [] }), 'in the last 12h')).toBe(
      'Nothing has happened in the last 12h.\n',
    )
  })
})

describe('many routers', () => {
  const SILENT: JournalEvent = {
    ...{ seq: 1, at: '2026-11-22T10:00:00.000Z', monotonicMs: 1_000, decidedMs: 999 },
    ...{ kind: 'transition', router: 'vip', vrid: 1, from: 'Backup', to: 'Active', reason: 'activeSilent' },
    ...{ priority: 100, interval: 1_000, self: '10.0.0.1', addresses: ['10.0.0.101'] },
    heard: { peer: '10.0.0.2', priority: 200, agoMs: 3_400 },
  }
  const node: NodeJournal = {
    name: 'r1',
    events: Array.from({ length: 6 }, (_, i) => ({
      ...SILENT,
      ...{ seq: i + 1, monotonicMs: 1_000 + i, router: `vip${i + 1}`, vrid: i + 1, addresses: [`10.0.0.${101 + i}`] },
    })),
  }

  test('routers that move together are one incident', () => {
    const { incidents } = storyOf([node], { router: undefined, since: 0, problems: [] })
    expect(incidents.map(({ headline }) => headline)).toEqual([
      expect.stringMatching(
        /^vip1, vip2, vip3, vip4 and 2 more moved from 10\.0\.0\.2 to r1: no advertisement of 10\.0\.0\.2 arrived any more/,
      ),
    ])
    expect(incidents[0]?.routers).toHaveLength(6)
  })

  test('one of the routers can be selected', () => {
    const { incidents } = storyOf([node], { router: 'vip3', since: 0, problems: [] })
    expect(incidents.map(({ routers }) => routers)).toEqual([['vip3']])
  })
})

describe('made up', () => {
  const read = (name: string, node: string) => eventsIn(readFileSync(join(SAMPLES, name, `${node}.jsonl`), 'utf8'))
  const causes = (...journals: readonly NodeJournal[]) =>
    storyOf(journals, { router: undefined, since: 0, problems: [] }).incidents.map(({ cause }) => cause)
  const only = (event: Partial<JournalEvent> & Pick<JournalEvent, 'kind'>): NodeJournal => ({
    name: 'r1',
    events: eventsIn(JSON.stringify({ seq: 9, at: '2026-11-22T10:00:00.000Z', monotonicMs: 1_000, ...event })),
  })

  test('a tracked interface is named as the cause', () => {
    const events = read('check-fails', 'r1').map((event): JournalEvent => {
      if (event.kind !== 'checkChanged' || event.to !== 'down') return event
      const { at, monotonicMs, seq } = event
      return { seq, at, monotonicMs, kind: 'linkChanged', interface: 'eth1', exists: true, up: true, carrier: false }
    })
    const told = causes({ name: 'r2', events: read('check-fails', 'r2') }, { name: 'r1', events })
    expect(told.at(-1)).toBe('interfaceTracked')
  })

  test.each([
    ['died', { kind: 'earlierLife', ended: 'abruptly', lastSeq: 8, lastAt: '2026-11-22T09:00:00.000Z' }],
    ['fault', { kind: 'faultChanged', router: 'vip', fault: 'vridTaken', present: true }],
    ['unknown', { kind: 'packetsLost', interface: 'eth0', count: 7 }],
    ['unknown', { kind: 'journalGap', lost: 7, why: 'ENOSPC' }],
  ] as const)('%s: %j', (cause, event) => {
    expect(causes(only(event))).toEqual([cause])
  })

  test('a clean stop and a fault that has ended are no incidents', () => {
    const end = { kind: 'earlierLife', ended: 'cleanly', lastSeq: 8, lastAt: '2026-11-22T09:00:00.000Z' } as const
    expect(causes(only(end))).toEqual([])
    expect(causes(only({ kind: 'faultChanged', router: 'vip', fault: 'vridTaken', present: false }))).toEqual([])
  })

  test.each([100, 60_000])('an engine that died and starts again %i ms later is reported once', (restartMs) => {
    const [r1, r2] = [read('engine-killed', 'r1'), read('engine-killed', 'r2')]
    const last = r1.at(-1)
    const released = r2.find((event) => event.kind === 'peerHeard' && event.news === 'released')
    if (last === undefined || released === undefined) throw new Error('journals of a death wanted')
    const begun = Date.parse(released.at) + restartMs
    const later = { at: new Date(begun).toISOString(), monotonicMs: last.monotonicMs + begun - Date.parse(last.at) }
    const next: JournalEvent[] = [
      {
        ...{ seq: last.seq + 1, ...later, kind: 'started', pid: 7, hostname: 'r1' },
        ...{ version: '0.1.0', config: 'x', guardian: true },
      },
      {
        ...{ seq: last.seq + 2, ...later, kind: 'earlierLife', ended: 'abruptly' },
        ...{ lastSeq: last.seq, lastAt: last.at },
      },
    ]
    const told = causes(
      { name: 'r2', events: r2, running: true },
      { name: 'r1', events: [...r1, ...next], running: true },
    )
    expect(told.filter((cause) => cause === 'engineDied')).toHaveLength(1)
    expect(told).not.toContain('died')
  })

  describe('an engine that had a bug, and has said so', () => {
    const [r1, r2] = [read('engine-killed', 'r1'), read('engine-killed', 'r2')]
    const last = r1.at(-1)
    const released = r2.find((event) => event.kind === 'peerHeard' && event.news === 'released')
    if (last === undefined || released === undefined) throw new Error('journals of a death wanted')
    const at = (ms: number) => {
      const when = Date.parse(released.at) + ms
      return { at: new Date(when).toISOString(), monotonicMs: last.monotonicMs + when - Date.parse(last.at) }
    }
    const crashed: JournalEvent = { seq: last.seq + 1, ...at(-5), kind: 'crashed', error: 'TypeError: no', code: 'EX' }
    const restarted: JournalEvent[] = [
      {
        ...{ seq: last.seq + 2, ...at(60_000), kind: 'started', pid: 7, hostname: 'r1' },
        ...{ version: '0.1.0', config: 'x', guardian: true },
      },
      {
        ...{ seq: last.seq + 3, ...at(60_000), kind: 'earlierLife', ended: 'abruptly' },
        ...{ lastSeq: crashed.seq, lastAt: crashed.at },
      },
    ]

    test.each([
      ['down', []],
      ['started again', restarted],
    ])('%s: the takeover names the exception, and it is told once', (_, more) => {
      const told = causes(
        { name: 'r2', events: r2, running: true },
        { name: 'r1', events: [...r1, crashed, ...more], running: more.length > 0 },
      )
      expect(told.filter((cause) => cause === 'engineDied')).toHaveLength(1)
      expect(told).not.toContain('died')
    })

    test('a single node is reported by its own events and not by those of the next start', () => {
      expect(
        causes({ name: 'r1', events: [...r1, crashed, ...restarted] }).filter((cause) => cause === 'died'),
      ).toEqual(['died'])
    })
  })
})

describe('docs/explain.md', () => {
  test('the document has the sentence for each fault of the chaos suite', () => {
    const rows = KINDS.flatMap((kind) =>
      SENTENCES[kind].map(({ cause, ms, says, variant }) => {
        const lasts = ms === 0 ? [] : [`${ms / 1_000} s`]
        const fault = [kind, ...(variant === '' ? [] : [variant]), ...lasts].join(', ')
        return [fault, cause === undefined ? '' : `\`${cause}\``, says === '' ? '(nothing has happened)' : says]
      }),
    )
    expectPart('explain.md', 'chaos', markdownTable(['fault', 'cause', 'the story says'], rows).trimEnd())
  })

  test.each(KINDS)('each variant of the fault %s has a sentence', (kind) => {
    const told = new Set(SENTENCES[kind].map(({ variant }) => variant))
    expect([...told].sort()).toEqual([...(VARIANTS[kind] ?? [''])].sort())
  })

  const docs = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explain.md'), 'utf8')

  test.each(CAUSES)('the document has a line for %s with the sentences of the program', (cause) => {
    expect(docs).toMatch(new RegExp(`^\\| \`${cause}\` \\|`, 'm'))
    const prevention = PREVENTION[cause]
    if (prevention !== undefined) expect(docs).toContain(prevention)
  })
})
