/**
 * Remembers the routers that advertise for one VRID now, and since when each advertises without a gap. Two such routers
 * at the same time are two Actives. A Backup receives the advertisements of both, although it follows one Active. This
 * file decides how long both must advertise, so that an ordinary takeover does not count. The list is limited, because
 * a sender can forge source addresses. This file knows nothing about the consequences of two Actives.
 */
import type { Parameters } from '../../vrrp/parameters.ts'
import type { State } from '../../vrrp/state.ts'
import { activeDownInterval } from '../../vrrp/timers.ts'
import type { Address } from '../../wire/address.ts'
import { centisToMillis, type Millis, millis } from '../../wire/units.ts'

const MOST_ROUTERS = 8
/** Empty list that all calls share, because beside() runs for each advertisement and must not allocate memory. */
const NONE: readonly OtherActive[] = []

/**
 * An entry about a router that advertises. The entry is changed, not replaced, because an advertisement must not
 * allocate memory.
 */
type Advertising = { priority: number; since: Millis; heardAt: Millis }

export type OtherActive = { readonly address: Address; readonly priority: number; readonly heardAt: Millis } & {
  /** Time since which this router advertises at the same time as another Active. */
  readonly besideSince: Millis
}

export class AdvertisingRouters {
  readonly #routers = new Map<Address, Advertising>()

  /**
   * Notes an advertisement that has passed the checks of RFC 9568 §7.1. Priority 0 is the last advertisement of an
   * Active.
   */
  note(source: Address, priority: number, heardAt: Millis, parameters: Parameters): void {
    const known = this.#routers.get(source)
    if (priority === 0) {
      this.#routers.delete(source)
    } else if (known === undefined) {
      if (this.#routers.size >= MOST_ROUTERS) this.#forgetOldest()
      this.#routers.set(source, { priority, since: heardAt, heardAt })
    } else {
      if (heardAt - known.heardAt > patience(parameters)) known.since = heardAt
      known.priority = priority
      known.heardAt = heardAt
    }
  }

  /** Notes that a router has repeated its advertisement without a gap until `heardAt`. */
  noteRepetitions(source: Address, heardAt: Millis): void {
    const known = this.#routers.get(source)
    if (known !== undefined) known.heardAt = heardAt
  }

  /**
   * Returns the other routers that are Active at the same time as this router, or at the same time as the Active that
   * this router follows. `activeSince` is the time since which this router is Active.
   */
  beside(state: State, parameters: Parameters, activeSince: Millis, now: Millis): readonly OtherActive[] {
    const isFresh = ({ heardAt }: Advertising) => now - heardAt <= patience(parameters)
    const followed = state.name === 'Backup' ? state.active?.source : undefined
    const own = state.name === 'Active' ? { since: activeSince, heardAt: now } : undefined
    const active = own ?? (followed === undefined ? undefined : this.#routers.get(followed))
    if (active === undefined) return NONE
    let found: OtherActive[] | undefined
    for (const [address, other] of this.#routers) {
      if (address === followed || !isFresh(other)) continue
      const since = millis(Math.max(active.since, other.since))
      const until = Math.min(active.heardAt, other.heardAt)
      if (until - since < centisToMillis(parameters.advertisementInterval)) continue
      found ??= []
      found.push({ address, priority: other.priority, heardAt: other.heardAt, besideSince: since })
    }
    return found ?? NONE
  }

  #forgetOldest(): void {
    const [oldest] = [...this.#routers].sort(([, one], [, other]) => one.heardAt - other.heardAt)
    if (oldest !== undefined) this.#routers.delete(oldest[0])
  }
}

const patience = ({ advertisementInterval, priority, version }: Parameters): number =>
  activeDownInterval(priority, advertisementInterval, version)
