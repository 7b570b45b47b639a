/**
 * Multicast or unicast, which do not hear each other: what is in force goes on (M8), and all nodes change at one moment of the
 * wall clock (M9), planned by each for itself once the cluster is not being upgraded. Decided here: whether and when. Refuses to know
 * configurations and files; times are ms since the epoch, of a clock that others have too.
 */
import { parse } from 'yaml'
import { z } from 'zod'
import type { ClusterNode } from '../cluster-node.ts'
import type { Mode } from './desired-state.ts'
import { CONFIG_DONE, CONFIG_STATE } from './upstream-words.ts'

const MINUTE = 60_000
const TICK = 10 * MINUTE
const LEAD = 5 * MINUTE
/** Before the change no other peers are handed over. */
const PREPARED = 30_000

/** Of a keepalived.conf. A comment is nobody's configuration. Undefined: there is none, or no instance in it. */
export function modeIn(keepalivedConf: string | undefined): Mode | undefined {
  if (keepalivedConf === undefined) return undefined
  const said = withoutComments(keepalivedConf)
  if (said.includes('unicast_peer')) return 'unicast'
  return said.includes('vrrp_instance') ? 'multicast' : undefined
}

export const withoutComments = (keepalivedConf: string): string => keepalivedConf.replace(/[#!].*$/gm, '')

const ModeFile = z.object({ mode: z.enum(['unicast', 'multicast']) })

/** What somebody wants; undefined: nothing. The user's file holds, even when it makes no sense (`problem`). */
export function wantedMode(
  userFile: string | undefined,
  file: string | undefined,
): { readonly mode: Mode | undefined; readonly problem: string | undefined } {
  const text = userFile ?? file
  if (text === undefined) return { mode: undefined, problem: undefined }
  const { data } = ModeFile.safeParse(yamlIn(text))
  const where = userFile === undefined ? 'monitor.conf' : 'monitor-user.conf'
  return data === undefined
    ? { mode: undefined, problem: `Cannot use ${where}: its mode is neither unicast nor multicast` }
    : { mode: data.mode, problem: undefined }
}

function yamlIn(text: string): unknown {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

/** A node that says nothing of itself may be in the middle of anything. */
export const isBeingUpgraded = (nodes: readonly ClusterNode[]): boolean =>
  nodes.some(({ annotations }) => annotations[CONFIG_STATE] !== CONFIG_DONE) ||
  new Set(nodes.map(({ kubeletVersion }) => kubeletVersion)).size > 1

export type PlannedChange = { readonly mode: Mode; readonly preparedAt: number; readonly at: number }
export type Schedule = { readonly tickAt: number; readonly planned: PlannedChange | undefined }

const rounded = (time: number, to: number): number => Math.floor(time / to + 0.5) * to

/** The next round ten minutes that are at least a little away. */
export const startSchedule = (now: number): Schedule => ({ tickAt: rounded(now + TICK / 2, TICK), planned: undefined })

/** At a tick: five minutes from it, by the clock of the tick and not by when it was noticed. */
export function planned(tickAt: number, mode: Mode): PlannedChange {
  const at = rounded(tickAt + LEAD, LEAD)
  return { mode, preparedAt: at - PREPARED, at }
}

export type ModeFacts = {
  readonly current: Mode | undefined
  readonly wanted: Mode | undefined
  /** Undefined: nobody knows them at the moment. */
  readonly nodes: readonly ClusterNode[] | undefined
}

export const isChangeNeeded = ({ current, wanted }: Pick<ModeFacts, 'current' | 'wanted'>): boolean =>
  current !== undefined && wanted !== undefined && current !== wanted

/** What was planned goes on whatever happens then: the others have planned it too. */
export function ticked(schedule: Schedule, facts: ModeFacts, now: number): Schedule {
  // The clock was set back: what was planned by the wrong one was planned by nobody else.
  if (schedule.tickAt - now > TICK || (schedule.planned !== undefined && schedule.planned.at - now > TICK))
    return startSchedule(now)
  if (now < schedule.tickAt) return schedule
  const tickAt = startSchedule(now).tickAt
  // Noticed too late (the machine slept): the others have changed or will not, and the next tick is soon.
  const isLate = now >= planned(schedule.tickAt, 'unicast').preparedAt
  const { wanted, nodes } = facts
  if (schedule.planned !== undefined || isLate || wanted === undefined || !isChangeNeeded(facts))
    return { ...schedule, tickAt }
  if (nodes === undefined || nodes.length === 0 || isBeingUpgraded(nodes)) return { ...schedule, tickAt }
  return { tickAt, planned: planned(schedule.tickAt, wanted) }
}
