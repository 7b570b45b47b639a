/**
 * A member of a sync group while the group handles one event: its state so far, its effects so far, and operations that
 * several rules share. The rules are in sync-group.ts and agreement.ts.
 */
import type { Millis } from '../../../wire/units.ts'
import type { Effect } from '../../effect.ts'
import type { Event, GroupFault } from '../../event.ts'
import type { Step } from '../../fsm.ts'
import type { Parameters } from '../../parameters.ts'
import type { State } from '../../state.ts'
import { enterBackup } from '../enter.ts'
import { answeredAfterLosing } from '../grace-period.ts'
import { extendedStep } from '../index.ts'

export type Member = {
  readonly name: string
  readonly state: State
  readonly parameters: Parameters
  /** False if the member's link is down. A member without a link cannot send priority 0 when another member fails. */
  readonly canSend?: boolean | undefined
}

/** A member while its group handles one event: its state and its effects so far. */
export type Moving = Pick<Member, 'name' | 'state' | 'parameters'> & {
  readonly effects: readonly Effect[]
  /**
   * Tells whether the member's link is up. A function, because most events of a group with 255 members concern one
   * member.
   */
  readonly canSend: () => boolean
}

const NOTHING: readonly Effect[] = []

export function atRest(member: Member): Moving {
  const { name, parameters, state } = member
  return { name, parameters, state, effects: NOTHING, canSend: () => member.canSend ?? true }
}

export const enter = (member: Moving, [state, effects]: Step): Moving => ({
  ...member,
  state,
  effects: [...member.effects, ...effects],
})

export const post = (member: Moving, event: Event, now: Millis): Moving =>
  enter(member, extendedStep(member.state, event, member.parameters, now))

export const groupFault = (name: string): GroupFault => `syncGroup:${name}`

/**
 * Makes a member Backup without priority 0 and without a last advertisement. Only the member that received the winner's
 * advertisement sends a last advertisement (VR-SG-02). `heardAt` is the time of the winner's advertisement; `undefined`
 * if no advertisement is the reason. The winner announces the addresses on each network.
 */
export function stepDown(member: Moving, name: string, now: Millis, heardAt?: Millis): Moving {
  const { parameters, state } = member
  const stillAnswered =
    heardAt === undefined || state.name !== 'Active' ? undefined : answeredAfterLosing(state, heardAt, parameters, now)
  const [next, entered] = enterBackup(parameters, now, {
    from: 'Active',
    reason: groupFault(name),
    active: undefined,
    activeAdverInterval: parameters.advertisementInterval,
    holderChanged: true,
  })
  if (stillAnswered !== undefined && next.name === 'Backup') return enter(member, [{ ...next, stillAnswered }, entered])
  return enter(member, [next, [{ kind: 'removeAddresses', addresses: parameters.addresses }, ...entered]])
}
