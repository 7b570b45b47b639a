/**
 * Ports of a replayed engine: every action of the engine is compared with the recording, and every question is answered
 * from the recording. No packet is sent and no address is changed. The recording is made in taped-ports.ts.
 */

import type { AddressMemory } from '../daemon/addresses/ledger.ts'
import type { DaemonPorts } from '../daemon/daemon.ts'
import type {
  AddressFilePort,
  AdvertisementSocket,
  AdvertisementSocketOptions,
  CheckPort,
  FrameSocket,
  FrameSocketOptions,
  NeighborWatchOptions,
  NetworkPort,
  NotifyPort,
  SocketPort,
} from '../daemon/ports.ts'
import type { Input, InputOf } from './lines.ts'
import * as outputs from './outputs.ts'
import type { Playback } from './playback.ts'
import { ReplayedGuardian } from './replayed-guardian.ts'

type Options = AdvertisementSocketOptions | FrameSocketOptions | NeighborWatchOptions

const FAILED: ReadonlySet<Input['in']> = new Set(['failed'])
const NEWS: ReadonlySet<Input['in']> = new Set(['news'])
const RECEIVED: ReadonlySet<Input['in']> = new Set(['packet', 'failed'])
/** Inputs that may come from another part of the daemon during a call of the engine. */
const OTHERS: ReadonlySet<Input['in']> = new Set(['fact', 'stop', 'close', 'yield', 'reload', 'checked', 'notified'])

export class ReplayedPorts {
  readonly #playback: Playback
  readonly #timers = new Map<number, () => void>()
  #timerCount = 0
  readonly #sockets = new Map<number, Options>()
  #socketCount = 0
  readonly #delivering = new Map<number, Parameters<AdvertisementSocket['drain']>[1]>()
  readonly #guardian: ReplayedGuardian
  #onTick: () => void = () => {}
  #onNetwork: Parameters<NetworkPort['watch']>[0] | undefined
  #onNamed: Parameters<AddressFilePort['follow']>[1] | undefined
  #onChecks: Parameters<CheckPort['onNews']>[0] | undefined
  #onChecksStopped: (() => void) | undefined
  #onNotified: Parameters<NotifyPort['onNews']>[0] | undefined

  constructor(playback: Playback) {
    this.#playback = playback
    this.#guardian = new ReplayedGuardian(playback)
  }

  /** Returns the ports for the replayed engine. `has`: the optional ports that the recorded engine had. */
  ports(has: InputOf<'create'>['has']): DaemonPorts {
    const { clocks, did, recorder, within } = this.#playback
    if (has.includes('clock')) this.#guardian.startClock()
    return {
      ...{ recorder, network: this.#network(), sockets: this.#socketPort(), guardian: this.#guardian },
      clock: { now: () => clocks.now(), asleep: () => clocks.asleep() },
      random: () => clocks.read('random'),
      wakeUp: (onTick) => {
        this.#onTick = onTick
        return { set: (at) => did({ out: 'wake', at }), clear: () => did({ out: 'wake' }) }
      },
      schedule: (callback, wait) => {
        const timer = ++this.#timerCount
        did({ out: 'timer', timer, wait })
        this.#timers.set(timer, callback)
        return () => {
          did({ out: 'cancel', timer })
          this.#timers.delete(timer)
        }
      },
      addressMemory: this.#memory(),
      ...(has.includes('checks') ? { checks: this.#checks() } : {}),
      ...(has.includes('notify') ? { notify: this.#notify() } : {}),
      ...(has.includes('addressFiles') ? { addressFiles: this.#files() } : {}),
      onGuardianLost: () => {
        did({ out: 'guardianLost' })
        within(OTHERS)
      },
      onBeat: () => within(OTHERS),
    }
  }

  /**
   * Gives a recorded notification to the engine. Returns false if the engine does not listen, or if the input is no
   * notification.
   */
  give(input: Input): boolean {
    switch (input.in) {
      case 'tick':
        this.#onTick()
        return true
      case 'timer':
        return call(this.#timers.get(input.timer))
      case 'news':
        return call(this.#onNetwork, input.event)
      case 'named':
        return call(this.#onNamed, input.file, input.reading)
      case 'called':
        return this.#guardian.called()
      case 'cover':
        return this.#guardian.clock?.covered() === true
      case 'checked':
        return call(this.#onChecks, input.news)
      case 'checksStopped':
        return call(this.#onChecksStopped)
      case 'notified':
        return call(this.#onNotified, input.news)
      default:
        return 'socket' in input && this.#giveSocket(input)
    }
  }

  #giveSocket(input: Extract<Input, { readonly socket: number }>): boolean {
    const options = this.#sockets.get(input.socket)
    if (options === undefined) return false
    switch (input.in) {
      case 'readable':
        return call('onReadable' in options ? options.onReadable : undefined)
      case 'packet': {
        const { at: receivedAt, family, from: source, hex, to: destination, ttl } = input
        const bytes = outputs.bytesOf(hex)
        return call(this.#delivering.get(input.socket), { family, source, destination, ttl, bytes, receivedAt })
      }
      case 'failed':
        return call(options.onFailure, input.failure)
      case 'frame':
        return call('onFrame' in options ? options.onFrame : undefined, outputs.bytesOf(input.hex), input.at)
      case 'neighbor':
        return call('onNeighbor' in options ? options.onNeighbor : undefined, input.address, input.is)
      case 'neighborsLost':
        return call('onLost' in options ? options.onLost : undefined)
      case 'drained':
        return false
    }
  }

  #network(): NetworkPort {
    const { requiredAnswerTo, did, outcome, within } = this.#playback
    return {
      links: () => requiredAnswerTo('links')?.links ?? undefined,
      addresses: () => requiredAnswerTo('addresses')?.addresses ?? undefined,
      apply: (steps) => outcome(outputs.applied(steps), (answer) => outputs.applyOutcomes(answer, steps)),
      settle: (index) => did({ out: 'settle', index }),
      watch: (deliver) => {
        did({ out: 'watch' })
        this.#onNetwork = deliver
        within(NEWS)
      },
      drain: () => within(NEWS),
      close: () => did({ out: 'closeNetwork' }),
    }
  }

  #socketPort(): SocketPort {
    const { did, outcome, answerTo, within } = this.#playback
    const open = <T>(what: Parameters<typeof outputs.opened>[1], options: Options, make: (socket: number) => T) => {
      const socket = ++this.#socketCount
      this.#sockets.set(socket, options)
      within(FAILED, socket)
      return outcome(outputs.opened(socket, what, options), outputs.failureOf) ?? make(socket)
    }
    const close = (socket: number) => () => {
      did({ out: 'closeSocket', socket })
      this.#sockets.delete(socket)
    }
    return {
      openAdvertisementSocket: (options) =>
        open('advertisements', options, (socket): AdvertisementSocket => {
          return {
            drain: (_, deliver) => {
              let packets = 0
              this.#delivering.set(socket, (packet) => {
                packets++
                deliver(packet)
              })
              within(RECEIVED, socket)
              this.#delivering.delete(socket)
              const { empty = true, lost = 0 } = answerTo('drained', (result) => result.socket === socket) ?? {}
              return { packets, empty, lost }
            },
            send: (datagrams) => {
              within(FAILED, socket)
              return outcome(outputs.sent(socket, datagrams, outputs.plainHex), (answer) =>
                outputs.sendOutcomes(answer, datagrams.length),
              )
            },
            join: (group) => outcome({ out: 'join', socket, group }, outputs.failureOf),
            close: close(socket),
          }
        }),
      openFrameSocket: (options) =>
        open('frames', options, (socket): FrameSocket => {
          return {
            send: (frames) => {
              within(FAILED, socket)
              return outcome(outputs.framed(socket, frames), (answer) => outputs.sendOutcomes(answer, frames.length))
            },
            hear: (hears) => did({ out: 'hear', socket, hears }),
            close: close(socket),
          }
        }),
      openNeighborWatch: (options) => open('neighbors', options, (socket) => ({ close: close(socket) })),
    }
  }

  #memory(): AddressMemory {
    const { requiredAnswerTo, did } = this.#playback
    return {
      read: () => {
        const { entries = [], problem } = requiredAnswerTo('memory') ?? {}
        return { entries, problem }
      },
      write: (entries) => did({ out: 'remember', entries }),
    }
  }

  #files(): AddressFilePort {
    const { did, outcome } = this.#playback
    return {
      follow: (files, onNews) => {
        this.#onNamed = onNews
        return outcome({ out: 'follow', files }, outputs.readingsOf)
      },
      close: () => did({ out: 'closeFiles' }),
    }
  }

  #checks(): CheckPort {
    const { did } = this.#playback
    return {
      set: (specs, formerly) => did({ out: 'checks', checks: specs.map(({ name }) => name), formerly }),
      askOnceMore: (id, asked, within) => did({ out: 'askOnceMore', id, asked, within }),
      onNews: (listener) => {
        this.#onChecks = listener
      },
      stop: () => {
        did({ out: 'stopChecks' })
        return new Promise((resolve) => {
          this.#onChecksStopped = resolve
        })
      },
    }
  }

  #notify(): NotifyPort {
    const { did } = this.#playback
    return {
      set: (lanes) => did({ out: 'lanes', lanes: lanes.map(({ lane }) => lane) }),
      post: (notification) => did(outputs.posted(notification)),
      onNews: (listener) => {
        this.#onNotified = listener
      },
      stop: () => did({ out: 'stopNotify' }),
    }
  }
}

/** Calls a listener with values. Returns false without a listener. */
function call<A extends readonly unknown[]>(listener: ((...values: A) => void) | undefined, ...values: A): boolean {
  listener?.(...values)
  return listener !== undefined
}
