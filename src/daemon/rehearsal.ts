/**
 * Runs the code of every failover once, right after the start, so that V8 has compiled that code before a real
 * failover. The first execution of a takeover takes milliseconds, the second execution tenths of a millisecond. The
 * rehearsal uses a router of its own on documentation addresses (RFC 5737), with ports that have no effect. The
 * Recorder of the rehearsal writes no log, guardian and addresses are values, and the sockets use no kernel. The
 * daemon's routers and the real time are not used: the clock is a number.
 */
import { gratuitousArp } from '../arp/gratuitous-arp.ts'
import type { Event } from '../vrrp/event.ts'
import type { Parameters } from '../vrrp/parameters.ts'
import { optionsOf, profileKnobs } from '../vrrp/profile.ts'
import { nextDeadline } from '../vrrp/state.ts'
import { advertisementDatagrams } from '../vrrp/transmit.ts'
import { address, addressBytes } from '../wire/address.ts'
import { checksumOf, wordSum } from '../wire/checksum.ts'
import { macFromBytes } from '../wire/mac.ts'
import { centis, type Millis, millis, plus } from '../wire/units.ts'
import { NetworkView } from './addresses/network-view.ts'
import { EffectRunner } from './effect-runner.ts'
import { untracked } from './health/tracking.ts'
import { Segment } from './lan/segment.ts'
import type { AddressOutcome, AddressStep, GuardianPort, Link, ReceivedPacket, SocketPort } from './ports.ts'
import { yieldAddresses } from './router/operator-yield.ts'
import { postEvent } from './router/post-event.ts'
import { Router } from './router/router.ts'
import { RouterGroup } from './router/router-group.ts'
import type { RouterSpec } from './router/router-spec.ts'
import { GapNews } from './telemetry/advertisement-gaps.ts'
import { Recorder } from './telemetry/recorder.ts'
import { takeoverTimes } from './telemetry/takeover-watch.ts'

export type RehearsalPorts = {
  /** Sockets like the real ones, but without a kernel. */
  readonly sockets: SocketPort
  readonly guardian: GuardianPort
}

const SELF = address('192.0.2.1')
const PEER = address('192.0.2.2')
const VIP = address('192.0.2.100')
const GROUP = address('224.0.0.18')
const LINK: Link = {
  index: 1,
  name: 'rehearsal',
  mac: macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 1)),
  mtu: 1500,
  up: true,
  running: true,
}
const PEER_MAC = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 2))
const SPEC: RouterSpec = {
  name: 'rehearsal',
  configuredFault: undefined,
  basePriority: 100,
  track: [],
  announce: { at: [millis(0), millis(20), millis(500)], refresh: undefined },
  announceOther: { at: [millis(0)], refresh: undefined },
  forms: [{ address: VIP, prefixLength: 32 }],
  onDuplicate: 'announce',
  duplicateAllowed: [],
  lifetime: 'auto',
  notify: undefined,
}
const PARAMETERS: Parameters = {
  vrid: 255,
  family: 'ipv4',
  version: 3,
  priority: 100,
  advertisementInterval: centis(100),
  addresses: [VIP],
  preempt: true,
  preemptDelay: millis(0),
  minHold: millis(0),
  primaryAddress: SELF,
  transport: { mode: 'multicast', group: GROUP },
  peers: [{ address: PEER }],
  ...optionsOf(profileKnobs('holdfast', 3), 3),
}
/** Milliseconds that are longer than every deadline of a router with an interval of one second. */
const LONG = 5_000
/** Milliseconds until just after the second priority 0. */
const SHORT = 5

/** Runs the rehearsal in small parts. The caller may do other work between two parts. */
export function* rehearsal(ports: RehearsalPorts): Generator<void, void> {
  const stage = new Stage(ports)
  yield stage.post({ kind: 'startup' })
  yield stage.hear(250)
  yield* stage.wait(LONG)
  yield stage.hear(50)
  yield stage.answer()
  yield stage.hear(250)
  yield stage.hear(0)
  yield* stage.wait(LONG)
  yield stage.lowerPriority()
  yield stage.post({ kind: 'faultRaised', fault: 'linkDown', canSend: true })
  yield stage.post({ kind: 'faultCleared', fault: 'linkDown' })
  yield* stage.wait(LONG)
  yield stage.yield()
  yield* stage.wait(SHORT)
  yield stage.hear(250)
  yield* stage.wait(LONG)
  yield stage.post({ kind: 'shutdown' })
  yield* stage.wait(SHORT)
  yield stage.hear(250)
  yield* stage.wait(LONG)
  stage.close()
}

class Stage {
  readonly #router: Router
  readonly #segment: Segment
  readonly #runner = new EffectRunner({ apply: (steps) => this.#apply(steps) })
  readonly #view = new NetworkView()
  readonly #heard: ReceivedPacket[] = []
  #now: Millis = millis(1_000_000)
  readonly #recorder = new Recorder(() => this.#now)

  constructor({ sockets, guardian }: RehearsalPorts) {
    this.#view.apply({ kind: 'link', link: LINK })
    const recorder = this.#recorder
    this.#segment = new Segment(LINK, 'ipv4', SELF, {
      sockets: this.#overheard(sockets),
      view: this.#view,
      recorder,
      random: () => 0,
      writer: { apply: (steps) => this.#apply(steps) },
      turns: {
        ...{ begin: () => this.#now, endWoken: () => {}, endUnchanged: () => {}, serveOverdue: () => {} },
        ...{ isBusy: false, alarmBy: () => {} },
      },
      onFailure: () => {},
      onPeerReached: () => {},
      onAnnouncement: (segment, announcement, heardAt) => {
        for (const router of segment.routers.values()) router.competing.hear(announcement, heardAt, this.#now)
      },
    })
    const group = new RouterGroup(undefined, 0, { recorder, runner: this.#runner, guardian })
    const takeovers = takeoverTimes({ now: () => this.#now })
    const gapNews = new GapNews(recorder.chronicle)
    const context = {
      ...{ group, guardian, awaitsAdoption: false, slot: 0, runner: this.#runner, recorder, takeovers, gapNews },
      onTransition: () => {},
      onAskChecks: () => {},
    }
    this.#router = new Router(SPEC, PARAMETERS, context, this.#now)
    this.#segment.routers.set(PARAMETERS.vrid, this.#router)
    this.#router.moveTo(this.#segment, PARAMETERS)
    this.#segment.open()
  }

  post(event: Event): void {
    postEvent(this.#router, event, this.#now)
    this.#endTurn()
  }

  /** Makes the router of the rehearsal receive an advertisement of a peer. */
  hear(priority: number): void {
    const theirs = { ...this.#router.parameters, primaryAddress: PEER }
    const received = { family: 'ipv4', source: PEER, destination: GROUP, ttl: 255, receivedAt: this.#now } as const
    for (const { bytes } of advertisementDatagrams(theirs, priority))
      this.#heard.push({ ...received, bytes: asReceived(bytes) })
    this.#segment.reception.drain(this.#now)
    this.#endTurn()
  }

  /** Makes the router of the rehearsal receive a peer's answer for the address. */
  answer(): void {
    const mac = PEER_MAC
    this.#router.competing.hear({ address: VIP, mac, isAnswer: true }, this.#now, this.#now)
    gratuitousArp({ address: VIP, mac })
    this.#endTurn()
  }

  /** Applies the present priority, a lower one and the present one again, as trackers do. */
  lowerPriority(): void {
    for (const priority of [100, 90, 100]) {
      const changed = this.#router.adoptTracking(untracked(priority), this.#now)
      if (changed !== undefined) this.post(changed)
    }
  }

  yield(): void {
    yieldAddresses(this.#router.group.members, plus(this.#now, LONG), this.#now, this.#recorder.chronicle)
    this.#endTurn()
  }

  /** Makes every deadline within `ms` milliseconds expire. */
  *wait(ms: number): Generator<void, void> {
    const until = plus(this.#now, ms)
    for (;;) {
      const deadlines = [nextDeadline(this.#router.state), this.#segment.announcer.nextAt()]
      const next = deadlines.reduce((a, b) => (a !== undefined && (b === undefined || a < b) ? a : b))
      if (next === undefined || next > until) break
      this.#now = millis(Math.max(next, this.#now))
      this.#segment.reception.drain(this.#now)
      postEvent(this.#router, { kind: 'deadlineReached', receptionLost: false }, this.#now)
      this.#router.runDueWork(this.#now)
      yield this.#endTurn()
    }
    this.#now = until
  }

  close(): void {
    this.#segment.close()
  }

  #endTurn(): void {
    this.#runner.run(this.#now)
    this.#segment.announcer.run(this.#now)
    this.#runner.tell()
    this.#segment.watchAnnouncements()
  }

  /** Returns the caller's sockets, with the advertisements of the peer in their queues. */
  #overheard({ openAdvertisementSocket, openFrameSocket, openNeighborWatch }: SocketPort): SocketPort {
    return {
      openFrameSocket,
      openNeighborWatch,
      openAdvertisementSocket: (options) => {
        const socket = openAdvertisementSocket(options)
        if ('code' in socket) return socket
        return {
          drain: (maxBatches, deliver) => {
            const result = socket.drain(maxBatches, deliver)
            const packets = this.#heard.splice(0)
            for (const packet of packets) deliver(packet)
            return { ...result, packets: packets.length }
          },
          send: (datagrams) => socket.send(datagrams),
          join: (group) => socket.join(group),
          close: () => socket.close(),
        }
      },
    }
  }

  #apply(steps: readonly AddressStep[]): readonly AddressOutcome[] {
    return steps.map((step) => {
      const { action, interfaceIndex, address: target, prefixLength } = step
      const kind = action === 'add' ? 'addressAdded' : 'addressRemoved'
      this.#view.apply({ kind, present: { interfaceIndex, address: target, prefixLength, tentative: false } })
      return { step, ok: true, changed: true }
    })
  }
}

/** Returns a VRRP message as a raw socket delivers it, with an IP header in front. */
function asReceived(message: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(20 + message.length)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, 0x45c0)
  view.setUint16(2, bytes.length)
  view.setUint16(8, 0xff70)
  bytes.set(addressBytes(PEER), 12)
  bytes.set(addressBytes(GROUP), 16)
  view.setUint16(10, checksumOf(wordSum(bytes.subarray(0, 20))))
  bytes.set(message, 20)
  return bytes
}
