/**
 * The other host that answers for an address while this node is Active, for people: its MAC, since when, and how often. It is
 * over when it has not answered for some time. Refuses to know what is done about it (vrrp/extensions/silent-active.ts).
 */
import type { Address } from '../../wire/address.ts'
import type { Mac } from '../../wire/mac.ts'
import type { Millis } from '../../wire/units.ts'

/** It is asked at every advertisement, or by the radar at least every 3.2 s. */
const OVER_AFTER = 10_000

export type Rival = {
  readonly address: Address
  readonly mac: Mac
  readonly since: Millis
  readonly lastAt: Millis
  readonly answers: number
}

export class RivalAnswers {
  #rival: Rival | undefined

  note(address: Address, mac: Mac, heardAt: Millis): void {
    const known = this.at(heardAt)
    const isKnown = known?.mac === mac && known.address === address
    const since = isKnown ? known.since : heardAt
    this.#rival = { address, mac, since, lastAt: heardAt, answers: (isKnown ? known.answers : 0) + 1 }
  }

  /** `undefined`: no host answers any more. */
  at(now: Millis): Rival | undefined {
    return this.#rival !== undefined && now - this.#rival.lastAt < OVER_AFTER ? this.#rival : undefined
  }
}
