/** Types between duplicate address detection and its router. */
import type { DuplicateHolder } from '../../../arp/duplicate-detection.ts'
import type { Fault } from '../../../vrrp/event.ts'
import type { Parameters } from '../../../vrrp/parameters.ts'
import type { State } from '../../../vrrp/state.ts'
import type { Address } from '../../../wire/address.ts'
import type { Millis } from '../../../wire/units.ts'
import type { RouterSpec } from '../../router/router-spec.ts'
import type { NamedRouter } from './heard-routers.ts'

/** A duplicate holder of an address, with the facts for people. */
export type FoundDuplicate = DuplicateHolder & {
  readonly foundAt: Millis
  /** Router with the MAC of the duplicate holder; `undefined` if the host neither advertised nor is a listed peer. */
  readonly router: NamedRouter | undefined
  /** Time of the last advertisement of that router; `undefined` if it has not advertised. */
  readonly heardAt: Millis | undefined
}

export type WatchedRouter = {
  readonly name: string
  readonly parameters: Parameters
  readonly state: State
  readonly spec: Pick<RouterSpec, 'duplicateAllowed' | 'onDuplicate'>
  readonly io: { readonly detection: { firstDelay(): number } } | undefined
  announceOver(addresses: readonly Address[], now: Millis): void
  setFault(fault: Fault, present: boolean, canSend: boolean, now: Millis): void
}
