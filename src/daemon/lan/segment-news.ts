/**
 * What the segments' sockets have to say outside an alarm: packets that wait, claims of others, peers that are reached
 * again, and failures. Decided here: whose routers each of it is for, and whether it ends a turn or only brings an alarm
 * forward. Refuses to know what a packet or a claim means, and what the end of a turn does.
 */
import type { Address } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'
import type { NetworkView } from '../addresses/network-view.ts'
import type { Writer } from '../effect-runner.ts'
import type { SocketPort } from '../ports.ts'
import { postEvent } from '../post-event.ts'
import type { Router } from '../router.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import { READ_BATCHES, type SegmentContext } from './segment.ts'

export type SegmentNews = {
  readonly sockets: SocketPort
  readonly view: NetworkView
  readonly recorder: Recorder
  readonly random: () => number
  readonly writer: Writer
  /** Nothing that waited has been looked at yet. */
  readonly beginTurn: () => Millis
  readonly endTurn: (now: Millis) => void
  /** Somebody wants something done before the turn ends. */
  readonly isBusy: () => boolean
  /** The next alarm is not later than this. */
  readonly alarmBy: (at: Millis) => void
}

export function segmentContext(news: SegmentNews): SegmentContext {
  const { beginTurn, endTurn, recorder } = news
  return {
    sockets: news.sockets,
    view: news.view,
    recorder,
    random: news.random,
    writer: news.writer,
    onReadable: (segment) => {
      const now = beginTurn()
      segment.drain(now, READ_BATCHES)
      endTurn(now)
    },
    onFailure: (segment, failure) => {
      recorder.logLimited(`socket ${segment.interfaceName} ${failure.code}`, 'warn', failure.message, {
        interface: segment.interfaceName,
        code: failure.code,
      })
    },
    onPeerReached: (segment, peer) => {
      const now = beginTurn()
      for (const router of segment.routers.values()) reachPeer(router, peer, recorder, now)
      endTurn(now)
    },
    onClaim: (segment, claim, heardAt) => {
      const now = beginTurn()
      const claimed = [...segment.routers.values()].filter(({ parameters }) =>
        parameters.addresses.includes(claim.address),
      )
      for (const { competing } of claimed) competing.hear(claim, heardAt, now)
      // Also about the address of a router, which is nobody's VIP.
      for (const { duplicates } of segment.routers.values()) duplicates.hear(claim, heardAt, now)
      if (news.isBusy()) return endTurn(now)
      for (const at of [segment.radar.nextAt(), segment.nextAnnouncementAt()]) if (at !== undefined) news.alarmBy(at)
      // 255 addresses are claimed at once: only the deadlines of these routers can have moved, and only to be sooner.
      for (const router of claimed) {
        const at = router.nextDeadline()
        if (at !== undefined) news.alarmBy(at)
      }
    },
  }
}

/** The kernel reaches a unicast peer again: what waited there for the peer has left. */
function reachPeer(router: Router, peer: Address, recorder: Recorder, now: Millis): void {
  if (!router.asksBeside(peer)) return
  postEvent(router, { kind: 'peerReached', peer }, now)
  const { name } = router
  recorder.logLimited(
    `${name} reached ${peer}`,
    'info',
    `${name}: reaches ${peer}, which may have been Active meanwhile`,
    { router: name, peer },
  )
}
