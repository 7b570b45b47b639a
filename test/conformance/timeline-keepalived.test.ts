/**
 * Every timeline of statemachine-ext.json under the whole of profile keepalived: written as its keepalived file,
 * read, resolved, replayed. Intended differences are listed here, each with its one cause. The cause must make a
 * difference, and without it the timeline must be keepalived's. docs/profiles.md gives the reasons.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ResolvedRouter } from '../../src/config/resolve.ts'
import type { ExtensionOptions, Parameters } from '../../src/vrrp/parameters.ts'
import { timelineVectors } from './statemachine-vectors.ts'
import { differenceOf, NONE } from './timeline-difference.ts'
import { readTimeline } from './timeline-file.ts'

const { vectors } = timelineVectors()

const without = (parameters: Parameters, name: keyof ExtensionOptions): Parameters => {
  const { [name]: _off, ...extensions } = parameters.extensions
  return { ...parameters, extensions }
}

/** Settings with which holdfast does the same as keepalived. */
const TAKEN_BACK = {
  phase: (parameters) => ({ ...parameters, phase: 1 }),
  leaving: (parameters) => without(parameters, 'leaving'),
  lastAdvertisement: (parameters) => without(parameters, 'lastAdvertisement'),
  advertisePriorityChange: (parameters) => without(parameters, 'advertiseChange'),
} satisfies Record<string, (parameters: Parameters) => Parameters>
type Purpose = keyof typeof TAKEN_BACK

const ON_PURPOSE: Readonly<Record<string, readonly Purpose[]>> = {
  'SX-ST03': ['phase'],
  'SX-ST04': ['leaving'],
  'SX-PR05': ['phase'],
  'SX-MA02': ['phase'],
  'SX-MA06': ['lastAdvertisement'],
  'SX-MA07': ['phase'],
  'SX-OW01': ['lastAdvertisement'],
  'SX-GA01': ['phase'],
  'SX-GA02': ['phase'],
  'SX-GA03': ['phase'],
  'SX-GA04': ['phase'],
  'SX-GA05': ['lastAdvertisement'],
  'SX-SC04': ['phase'],
  'SX-WT01': ['phase', 'advertisePriorityChange'],
  'SX-WT02': ['phase', 'advertisePriorityChange'],
  'SX-WT03': ['phase', 'advertisePriorityChange'],
  'SX-WT04': ['phase', 'advertisePriorityChange'],
  'SX-WT08': ['phase', 'advertisePriorityChange'],
  'SX-WT10': ['phase'],
}

/** Missing features, with the reader's message as a fault of the instance or as a warning. */
const NOT_DONE: Readonly<Record<string, readonly ['fault' | 'warning', string]>> = {
  'SX-ST06': ['warning', '"vrrp_startup_delay" is not supported'],
  'SX-TM01': ['fault', '"down_timer_adverts" is refused'],
  'SX-TM02': ['fault', '"down_timer_adverts" is refused'],
  'SX-TM05': ['fault', '"down_timer_adverts" is refused'],
  'SX-SG08': ['fault', '"sync_group_tracking_weight" is refused'],
  'SX-LT01': ['warning', '"timer_expired_backup" is not supported'],
}

describe('the daemon with profile keepalived', () => {
  const rest = vectors.filter(({ id }) => ON_PURPOSE[id] === undefined && NOT_DONE[id] === undefined)

  test.each(rest.map((vector) => [vector.id, vector.title, vector] as const))(
    'follows the timeline of vector %s %s',
    (_id, _title, vector) => {
      const { routers } = readTimeline(vector)
      expect([...routers.values()].flatMap(({ configuredFault }) => configuredFault ?? [])).toEqual([])
      expect(differenceOf(vector, routers)).toEqual(NONE)
    },
  )

  test.each(Object.entries(ON_PURPOSE))('differs from vector %s by %j alone', (id, purposes) => {
    const vector = vectors.find((each) => each.id === id)
    if (vector === undefined) throw new Error(`There is no ${id}`)
    const { routers } = readTimeline(vector)
    const without = (back: readonly Purpose[]) =>
      differenceOf(vector, new Map([...routers].map(([name, router]) => [name, changed(router, back)])))
    expect(without(purposes)).toEqual(NONE)
    for (const purpose of purposes)
      expect(without(purposes.filter((each) => each !== purpose)), `with ${purpose}`).not.toEqual(NONE)
  })

  test.each(Object.entries(NOT_DONE))('reports the missing feature of vector %s: %j', (id, [kind, words]) => {
    const vector = vectors.find((each) => each.id === id)
    if (vector === undefined) throw new Error(`There is no ${id}`)
    const { routers, warnings } = readTimeline(vector)
    const faults = [...routers.values()].flatMap(({ configuredFault }) => configuredFault ?? [])
    expect(kind === 'fault' ? faults : warnings).toContainEqual(expect.stringContaining(words))
    expect(faults.length, 'faults').toBe(kind === 'fault' ? routers.size : 0)
  })

  test('has every difference listed in docs/profiles.md', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/profiles.md'), 'utf8')
    const ids = [...page.matchAll(/SX-[A-Z]{2}\d\d/g)].map(([id]) => id)
    expect(ids.sort()).toEqual([...Object.keys(ON_PURPOSE), ...Object.keys(NOT_DONE)].sort())
  })
})

function changed(router: ResolvedRouter, back: readonly Purpose[]): ResolvedRouter {
  return {
    ...router,
    parameters: back.reduce((parameters, purpose) => TAKEN_BACK[purpose](parameters), router.parameters),
  }
}
