/**
 * Reports duplicate holders of the addresses of one router: a log line and an event when a duplicate holder is found,
 * identified or gone. This file decides the text, and the limit of the events. This file knows nothing about how a
 * duplicate holder is detected.
 */

import type { DuplicateHolder } from '../../../arp/duplicate-detection.ts'
import { defined } from '../../../base/defined.ts'
import { LOG } from '../../../log/log.ts'
import type { OnDuplicate } from '../../../vrrp/extensions/duplicate.ts'
import type { Parameters } from '../../../vrrp/parameters.ts'
import type { Address } from '../../../wire/address.ts'
import type { Mac } from '../../../wire/mac.ts'
import type { Millis } from '../../../wire/units.ts'
import type { Recorder } from '../../telemetry/recorder.ts'
import { RATES, TokenBucket } from '../../telemetry/token-bucket.ts'
import { electionTime } from './election-time.ts'
import type { NamedRouter } from './heard-routers.ts'

/**
 * The router with a MAC. `heardAt` is the time of the router's last advertisement; `undefined` if it has not
 * advertised.
 */
export type BehindMac = { readonly router: NamedRouter | undefined; readonly heardAt: Millis | undefined }

export class DuplicateReport {
  readonly #router: { readonly name: string; readonly parameters: Parameters }
  readonly #recorder: Recorder
  readonly #bucket = new TokenBucket(RATES.duplicate)

  constructor(router: { readonly name: string; readonly parameters: Parameters }, recorder: Recorder) {
    this.#router = router
    this.#recorder = recorder
  }

  found(holder: DuplicateHolder, behind: BehindMac, reaction: OnDuplicate, now: Millis): void {
    const { address, mac } = holder
    const { name } = this.#router
    const { router } = behind
    this.#record(holder, true, now, { ...defined({ peer: router?.source }), reaction })
    this.#recorder.logLimited(
      `${name} duplicate ${mac} ${address}`,
      LOG.duplicateHolder,
      `${name}: duplicate holder: ${mac} (${this.#describe(behind, now)}) has ${address} as well: ${REACTIONS[reaction]}`,
      { router: name, address, mac, peer: router?.source, onDuplicate: reaction },
    )
  }

  /** Reports that the MAC of a known duplicate holder belongs to a router. */
  named(mac: Mac, source: Address): void {
    const { name } = this.#router
    this.#recorder.logLimited(
      `${name} duplicate name ${mac}`,
      LOG.duplicateHolderNamed,
      `${name}: duplicate holder: ${mac} is router ${source}`,
      { router: name, mac, peer: source },
    )
  }

  gone(holder: DuplicateHolder, now: Millis): void {
    const { address, mac } = holder
    const { name } = this.#router
    this.#record(holder, false, now)
    this.#recorder.logLimited(
      `${name} duplicate gone ${mac} ${address}`,
      LOG.duplicateHolderGone,
      `${name}: duplicate holder ${mac} no longer answers for ${address}`,
      { router: name, address, mac },
    )
  }

  /**
   * Describes the host with a MAC. For an old priority the text says its age, because the priority may have changed.
   */
  #describe({ heardAt, router }: BehindMac, now: Millis): string {
    if (router === undefined) return 'no VRRP heard from it'
    const ago = now - (heardAt ?? now)
    const isOld = ago > electionTime(this.#router.parameters)
    return `router ${router.source}, priority ${router.priority ?? 'unheard'}${isOld ? ` when last heard, ${Math.round(ago / 1_000)} s ago` : ''}`
  }

  #record(
    { address, mac }: DuplicateHolder,
    present: boolean,
    now: Millis,
    more: { peer?: Address; reaction?: OnDuplicate } = {},
  ) {
    if (this.#bucket.take(now) === undefined) return
    const router = this.#router.name
    this.#recorder.chronicle.record({ kind: 'duplicateHolder', router, address, mac, present, ...more })
  }
}

const REACTIONS: Readonly<Record<OnDuplicate, string>> = {
  announce: 'gratuitous ARP or NA sent again',
  yield: 'it would win the election, so this router gives the address up',
  alarm: 'no reaction, because onDuplicate is alarm',
}
