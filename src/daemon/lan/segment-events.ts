/**
 * Handles what the sockets of the segments report besides packets: announcements and answers of other hosts, peers that
 * are reachable again, and failures. This file decides which routers each report concerns, and whether a report ends a
 * turn or only moves the alarm forward. This file knows nothing about the meaning of an answer, and the end of a turn.
 */
import { LOG } from '../../log/log.ts'
import type { Address } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'
import type { Failure } from '../ports.ts'
import { postEvent } from '../router/post-event.ts'
import type { Router } from '../router/router.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import type { Turns } from '../turns.ts'
import type { HeardAnnouncement } from './arp-listener.ts'
import type { Segment, SegmentContext } from './segment.ts'

export class SegmentEvents implements Pick<SegmentContext, 'onAnnouncement' | 'onFailure' | 'onPeerReached'> {
  readonly #turns: Turns
  readonly #recorder: Recorder

  constructor(turns: Turns, recorder: Recorder) {
    this.#turns = turns
    this.#recorder = recorder
  }

  readonly onFailure = ({ interfaceName }: Segment, { code, message }: Failure): void => {
    this.#recorder.logLimited(`socket ${interfaceName} ${code}`, LOG.socketFailed, message, {
      interface: interfaceName,
      code,
    })
  }

  readonly onPeerReached = ({ routers }: Segment, peer: Address): void => {
    const now = this.#turns.begin('neighbor')
    for (const router of routers.values()) this.#reachPeer(router, peer, now)
    this.#turns.endWoken(now)
  }

  readonly onAnnouncement = (segment: Segment, announcement: HeardAnnouncement, heardAt: Millis): void => {
    const now = this.#turns.begin('neighbor')
    const concerned = [...segment.routers.values()].filter(({ parameters }) =>
      parameters.addresses.includes(announcement.address),
    )
    // With a clock, each member of the sync group advertises by itself from now on, and needs the alarm for that.
    const moved = concerned.flatMap((router) => (router.clock.isArmed ? router.group.members : [router]))
    // An answer is judged by the time of the last question, and the clock may have asked.
    for (const { group } of concerned) group.withdrawClocks()
    for (const { competing } of concerned) competing.hear(announcement, heardAt, now)
    // Announcements of a peer's own address are included, although that address is not a VIP.
    for (const { duplicates } of segment.routers.values()) duplicates.hear(announcement, heardAt, now)
    if (this.#turns.isBusy) return this.#turns.endWoken(now)
    for (const at of [segment.detection.nextAt(), segment.announcements.nextAt()]) this.#alarmBy(at)
    // A host may announce 255 addresses at the same time. Only deadlines of these routers can have changed, and only to
    // earlier times.
    for (const router of moved) this.#alarmBy(router.nextDeadline())
  }

  #alarmBy(at: Millis | undefined): void {
    if (at !== undefined) this.#turns.alarmBy(at)
  }

  /** Posts to the router that packets which waited in the kernel for the peer have been sent. */
  #reachPeer(router: Router, peer: Address, now: Millis): void {
    if (!router.asksBeside(peer)) return
    postEvent(router, { kind: 'peerReached', peer }, now)
    const { name } = router
    this.#recorder.logLimited(
      `${name} reached ${peer}`,
      LOG.peerReached,
      `${name}: peer ${peer} is reachable again, and may have been Active in the meantime`,
      { router: name, peer },
    )
  }
}
