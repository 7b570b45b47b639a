/**
 * The configuration of a virtual router except for the parameters of the protocol (vrrp/parameters.ts). A reload
 * replaces this value.
 */
import type { ResolvedRouter } from '../../config/resolve.ts'
import type { AnnounceSchedule } from '../../config/schema/announce.ts'
import type { Track } from '../../config/schema/track.ts'
import type { AddressForm } from '../../config/schema/virtual-address.ts'
import type { NotifyPrograms } from '../../notify/notification.ts'
import type { OnDuplicate } from '../../vrrp/extensions/duplicate.ts'
import type { Mac } from '../../wire/mac.ts'
import type { LifetimeOption } from '../addresses/lifetime.ts'

export type RouterSpec = {
  readonly name: string
  readonly basePriority: number
  /** Text of the fault `configured`; `undefined` if the router takes part in the election. */
  readonly configuredFault: string | undefined
  readonly track: readonly Track[]
  readonly announce: AnnounceSchedule
  /** Announcement schedule for excluded addresses of the other family than the router's. */
  readonly announceOther: AnnounceSchedule
  /** Interface, prefix length and label of each address in the kernel. */
  readonly forms: readonly AddressForm[]
  readonly onDuplicate: OnDuplicate
  /** MACs whose answers for our addresses are ignored. */
  readonly duplicateAllowed: readonly Mac[]
  readonly lifetime: LifetimeOption
  readonly notify: NotifyPrograms | undefined
}

export function specOf(resolved: ResolvedRouter): RouterSpec {
  const { announce, announceOther, configuredFault, duplicateAllowed, forms, lifetime, name } = resolved
  const { notify, onDuplicate, parameters, track } = resolved
  const basePriority = parameters.priority
  return {
    ...{ name, basePriority, configuredFault, track, announce, announceOther, forms },
    ...{ onDuplicate, duplicateAllowed, lifetime, notify },
  }
}
