/**
 * Decides between multicast and unicast. A router with multicast and a router with unicast do not receive each other.
 * The mode in force stays (M8). All nodes change at the same moment of the wall clock (M9); each node plans the change
 * for itself while the cluster is not being upgraded. Times are milliseconds since the epoch.
 */
import { parse } from 'yaml'
import { z } from 'zod'
import type { ClusterNode } from '../cluster-node.ts'
import type { Mode } from './desired-state.ts'
import { CONFIG_DONE, CONFIG_STATE } from './upstream-names.ts'

const MINUTE = 60_000
const TICK = 10 * MINUTE
const LEAD = 5 * MINUTE
/** Milliseconds before a change of mode in which no new peers are handed over. */
const PREPARED = 30_000

/**
 * Returns unicast or multicast, as a keepalived.conf uses it; `undefined` without a file, or without an instance in the
 * file. Comments are ignored.
 */
export function modeIn(keepalivedConf: string | undefined): Mode | undefined {
  if (keepalivedConf === undefined) return undefined
  const said = withoutComments(keepalivedConf)
  if (said.includes('unicast_peer')) return 'unicast'
  return said.includes('vrrp_instance') ? 'multicast' : undefined
}

/** Returns a keepalived.conf without its comments. */
export const withoutComments = (keepalivedConf: string): string => keepalivedConf.replace(/[#!].*$/gm, '')

const ModeFile = z.object({ mode: z.enum(['unicast', 'multicast']) })

/**
 * Returns unicast or multicast, as one of the two files asks for it; `undefined` if no file does. The user's file wins,
 * even if its content is invalid (`problem`).
 */
export function wantedMode(
  userFile: string | undefined,
  file: string | undefined,
): { readonly mode: Mode | undefined; readonly problem: string | undefined } {
  const text = userFile ?? file
  if (text === undefined) return { mode: undefined, problem: undefined }
  const { data } = ModeFile.safeParse(yamlIn(text))
  const where = userFile === undefined ? 'monitor.conf' : 'monitor-user.conf'
  return data === undefined
    ? { mode: undefined, problem: `${where}: cannot use its mode, expected unicast or multicast` }
    : { mode: data.mode, problem: undefined }
}

function yamlIn(text: string): unknown {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

/** Tells whether the cluster is being upgraded. A node without the annotation may be in the middle of an upgrade. */
export const isBeingUpgraded = (nodes: readonly ClusterNode[]): boolean =>
  nodes.some(({ annotations }) => annotations[CONFIG_STATE] !== CONFIG_DONE) ||
  new Set(nodes.map(({ kubeletVersion }) => kubeletVersion)).size > 1

export type PlannedChange = { readonly mode: Mode; readonly preparedAt: number; readonly at: number }
export type Schedule = { readonly tickAt: number; readonly planned: PlannedChange | undefined }

const rounded = (time: number, to: number): number => Math.floor(time / to + 0.5) * to

/**
 * Returns the schedule of mode changes. The first tick of the schedule is the next full ten minutes that are not too
 * close.
 */
export const startSchedule = (now: number): Schedule => ({ tickAt: rounded(now + TICK / 2, TICK), planned: undefined })

/**
 * Returns the planned change of mode for a tick: five minutes after the tick. The time of the tick counts, not the time
 * at which the agent noticed the tick.
 */
export function planned(tickAt: number, mode: Mode): PlannedChange {
  const at = rounded(tickAt + LEAD, LEAD)
  return { mode, preparedAt: at - PREPARED, at }
}

export type ModeFacts = {
  readonly current: Mode | undefined
  readonly wanted: Mode | undefined
  /** Nodes of the cluster; `undefined` while the nodes are not known. */
  readonly nodes: readonly ClusterNode[] | undefined
}

/** Tells whether the mode in force (unicast or multicast) differs from the wanted mode. */
export const isChangeNeeded = ({ current, wanted }: Pick<ModeFacts, 'current' | 'wanted'>): boolean =>
  current !== undefined && wanted !== undefined && current !== wanted

/**
 * Returns the schedule of mode changes after a tick. A planned change always takes place, because the other nodes have
 * planned the same change.
 */
export function ticked(schedule: Schedule, facts: ModeFacts, now: number): Schedule {
  // The clock was set back. The plan used the wrong time, so no other node has the same plan.
  if (schedule.tickAt - now > TICK || (schedule.planned !== undefined && schedule.planned.at - now > TICK))
    return startSchedule(now)
  if (now < schedule.tickAt) return schedule
  const tickAt = startSchedule(now).tickAt
  // The tick was noticed too late, because the machine slept. At this time the other nodes have changed or will not
  // change, and the next tick is soon.
  const isLate = now >= planned(schedule.tickAt, 'unicast').preparedAt
  const { wanted, nodes } = facts
  if (schedule.planned !== undefined || isLate || wanted === undefined || !isChangeNeeded(facts))
    return { ...schedule, tickAt }
  if (nodes === undefined || nodes.length === 0 || isBeingUpgraded(nodes)) return { ...schedule, tickAt }
  return { tickAt, planned: planned(schedule.tickAt, wanted) }
}
