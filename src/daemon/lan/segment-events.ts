/**
 * What the sockets of the segments report besides packets: claims of other hosts, peers that are reached again, and failures. Decided here: which routers each of it is for, and whether it ends a turn or only brings an alarm
 * forward. Refuses to know what a claim means, and what the end of a turn does.
 */
import type { Address } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'
import type { Failure } from '../ports.ts'
import { postEvent } from '../router/post-event.ts'
import type { Router } from '../router/router.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import type { Turns } from '../turns.ts'
import type { HeardClaim } from './arp-listener.ts'
import type { Segment, SegmentContext } from './segment.ts'

export class SegmentEvents implements Pick<SegmentContext, 'onClaim' | 'onFailure' | 'onPeerReached'> {
  readonly #turns: Turns
  readonly #recorder: Recorder

  constructor(turns: Turns, recorder: Recorder) {
    this.#turns = turns
    this.#recorder = recorder
  }

  readonly onFailure = ({ interfaceName }: Segment, { code, message }: Failure): void => {
    this.#recorder.logLimited(`socket ${interfaceName} ${code}`, 'warn', message, { interface: interfaceName, code })
  }

  readonly onPeerReached = ({ routers }: Segment, peer: Address): void => {
    const now = this.#turns.begin()
    for (const router of routers.values()) this.#reachPeer(router, peer, now)
    this.#turns.endWoken(now)
  }

  readonly onClaim = (segment: Segment, claim: HeardClaim, heardAt: Millis): void => {
    const now = this.#turns.begin()
    const claimed = [...segment.routers.values()].filter(({ parameters }) =>
      parameters.addresses.includes(claim.address),
    )
    for (const { competing } of claimed) competing.hear(claim, heardAt, now)
    // Also about the own address of a peer, which is no VIP.
    for (const { duplicates } of segment.routers.values()) duplicates.hear(claim, heardAt, now)
    if (this.#turns.isBusy) return this.#turns.endWoken(now)
    for (const at of [segment.detection.nextAt(), segment.announcements.nextAt()]) this.#alarmBy(at)
    // 255 addresses are claimed at once: only the deadlines of these routers can have moved, and only to an earlier time.
    for (const router of claimed) this.#alarmBy(router.nextDeadline())
  }

  #alarmBy(at: Millis | undefined): void {
    if (at !== undefined) this.#turns.alarmBy(at)
  }

  /** What waited in the kernel for the peer has left. */
  #reachPeer(router: Router, peer: Address, now: Millis): void {
    if (!router.asksBeside(peer)) return
    postEvent(router, { kind: 'peerReached', peer }, now)
    const { name } = router
    this.#recorder.logLimited(
      `${name} reached ${peer}`,
      'info',
      `${name}: reaches ${peer}, which may have been Active meanwhile`,
      { router: name, peer },
    )
  }
}
