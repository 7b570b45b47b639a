import { describe, expect, test } from 'vitest'
import type { ClusterNode } from '../../../src/cluster/decisions/cluster-node.ts'
import type { Mode } from '../../../src/cluster/decisions/engine/desired-state.ts'
import {
  isBeingUpgraded,
  isChangeNeeded,
  modeIn,
  planned,
  type Schedule,
  startSchedule,
  ticked,
  wantedMode,
} from '../../../src/cluster/decisions/engine/mode.ts'
import { clusterCases } from '../../support/cluster-cases.ts'

type Files = {
  readonly monitorUserConfMode: string | null
  readonly monitorConfMode: string | null
  readonly keepalivedConf: string | null
}
type Needed = { readonly needed: boolean; readonly desired?: Mode }

/** Cases in which holdfast intentionally differs from upstream. */
const ON_PURPOSE: Readonly<Record<string, Needed>> = {
  // Comments are no configuration: keepalived uses multicast there.
  'mode-comment-counts': { needed: true, desired: 'unicast' },
}

describe('whether the mode has to change', () => {
  const file = (mode: string | null) => (mode === null ? undefined : `mode: ${mode}\n`)
  test.each(clusterCases<Files, Needed>('modeUpdateNeeded').map((one) => [one.id, one] as const))(
    '%s',
    (id, { input, expect: wanted }) => {
      const { mode } = wantedMode(file(input.monitorUserConfMode), file(input.monitorConfMode))
      const needed = isChangeNeeded({ current: modeIn(input.keepalivedConf ?? undefined), wanted: mode })
      expect({ needed, ...(mode === undefined ? {} : { desired: mode }) }).toEqual(ON_PURPOSE[id] ?? wanted)
    },
  )

  test.each(['mode: multi', 'mode: [', '', 'time: 14:50', '- unicast'])(
    'the file "%s" asks for nothing, and is named',
    (text) => {
      expect(wantedMode(text, 'mode: unicast')).toEqual({
        mode: undefined,
        problem: expect.stringContaining('monitor-user.conf'),
      })
      expect(wantedMode(undefined, text)).toEqual({ mode: undefined, problem: expect.stringContaining('monitor.conf') })
    },
  )

  test('a file without instances has no mode', () => {
    expect(modeIn('global_defs {\n}\n! unicast_peer\n')).toBeUndefined()
    expect(modeIn('vrrp_instance a {\n unicast_peer {\n }\n}')).toBe('unicast')
  })
})

const at = (time: string): number => Date.parse(`2026-11-22T${time}Z`)

describe('when it changes', () => {
  type Times = { readonly firstTick: string; readonly renderAt: string; readonly reloadAt: string }
  test.each(clusterCases<{ monitorStartedAt: string }, Times>('modeSchedule').map((one) => [one.id, one] as const))(
    '%s',
    (_, { input, expect: wanted }) => {
      const { tickAt } = startSchedule(at(input.monitorStartedAt))
      const { preparedAt, at: changeAt } = planned(tickAt, 'unicast')
      expect([tickAt, preparedAt, changeAt].map((time) => new Date(time).toISOString().slice(11, 19))).toEqual([
        wanted?.firstTick,
        wanted?.renderAt,
        wanted?.reloadAt,
      ])
    },
  )
})

type NodeWords = { readonly kubeletVersion: string; readonly state: string | null }
const clusterNode = ({ kubeletVersion, state }: NodeWords): ClusterNode => ({
  name: 'n',
  labels: {},
  annotations: state === null ? {} : { 'machineconfiguration.openshift.io/state': state },
  addresses: [],
  kubeletVersion,
})

describe('whether the cluster is being upgraded', () => {
  test.each(
    clusterCases<{ nodes: readonly NodeWords[] }, boolean>('isUpgradeStillRunning').map(
      (one) => [one.id, one] as const,
    ),
  )('%s', (_, { input, expect: wanted }) => expect(isBeingUpgraded(input.nodes.map(clusterNode))).toBe(wanted))
})

describe('a tick', () => {
  const nodes = [clusterNode({ kubeletVersion: 'v1', state: 'Done' })]
  const facts = { current: 'multicast', wanted: 'unicast', nodes } as const
  const schedule: Schedule = { tickAt: at('14:50:00'), planned: undefined }
  const change = { mode: 'unicast', preparedAt: at('14:54:30'), at: at('14:55:00') }

  test('a tick plans the same time on all nodes, whenever it was noticed', () => {
    expect(ticked(schedule, facts, at('14:49:59'))).toBe(schedule)
    expect(ticked(schedule, facts, at('14:50:00'))).toEqual({ tickAt: at('15:00:00'), planned: change })
    expect(ticked(schedule, facts, at('14:52:31'))).toMatchObject({ planned: change })
    expect(ticked(schedule, facts, at('14:54:30'))).toMatchObject({ planned: undefined })
  })

  test.each([
    ['is already so', { current: 'unicast' }],
    ['nothing is in force', { current: undefined }],
    ['nobody wants another', { wanted: undefined }],
    ['the nodes are not known', { nodes: undefined }],
    ['there are no nodes', { nodes: [] }],
    ['a node is not done', { nodes: [...nodes, clusterNode({ kubeletVersion: 'v1', state: 'Working' })] }],
  ] as const)('a tick plans nothing if %s', (_, others) =>
    expect(ticked(schedule, { ...facts, ...others }, at('14:50:00'))).toEqual({
      tickAt: at('15:00:00'),
      planned: undefined,
    }),
  )

  test('a plan of a clock that was set back is dropped', () => {
    const before = ticked(schedule, facts, at('14:50:00'))
    expect(ticked(before, facts, at('14:46:00'))).toEqual({ tickAt: at('14:50:00'), planned: undefined })
    expect(ticked(schedule, facts, at('12:01:00'))).toEqual({ tickAt: at('12:10:00'), planned: undefined })
  })

  test('a tick does not change an existing plan', () => {
    const before = { tickAt: at('14:50:00'), planned: { ...change, mode: 'multicast' as const } }
    expect(ticked(before, facts, at('14:50:00')).planned).toBe(before.planned)
  })
})
