/**
 * Links and addresses of the node: a list, changes, and notifications. This file decides the order of events (also when
 * the receiver of one event asks for more events), and the handling of an incomplete list. Other files decide which
 * interface or address matters.
 */
import type {
  AddressOutcome,
  AddressStep,
  Link,
  NameOf,
  NetworkEvent,
  NetworkPort,
  PresentAddress,
} from '../daemon/ports.ts'
import { applySteps, waitForKernel } from './addresses.ts'
import type { KernelClock } from './clock.ts'
import type { NativeAddon } from './native.ts'
import type { NetlinkMessage } from './netlink/message.ts'
import { type MonitorSocket, openMonitorSocket, openRequestSocket, type RequestSocket } from './netlink/socket.ts'
import { PromoteSecondaries, readPromoteSecondaries } from './promote-secondaries.ts'
import { readAddresses, readLinks } from './tables.ts'

const LOOK_AGAIN_MS = 100

function eventOf(message: NetlinkMessage): NetworkEvent | undefined {
  switch (message.kind) {
    case 'link':
    case 'linkGone':
      return message
    case 'address':
      return { kind: 'addressAdded', present: message.present }
    case 'addressGone':
      return { kind: 'addressRemoved', present: message.present }
    default:
      return undefined
  }
}

/** Opens the network. Throws the addon's Error if rtnetlink cannot be opened. Later calls never throw. */
export function openNetwork(
  native: NativeAddon,
  clock: KernelClock,
  onProblem: (message: string) => void = () => {},
): NetworkPort {
  // The monitor socket opens first. Because of this order, every later change is either in a list or in the queue of
  // the monitor.
  const monitor = openMonitorSocket(native)
  return new KernelNetwork(monitor, openRequestSocket(native, clock), onProblem)
}

class KernelNetwork implements NetworkPort {
  readonly #monitor: MonitorSocket
  readonly #requests: RequestSocket
  readonly #secondaries: PromoteSecondaries
  readonly #pending: NetworkEvent[] = []
  #deliver: ((event: NetworkEvent) => void) | undefined
  #lookAgain: NodeJS.Timeout | undefined

  constructor(monitor: MonitorSocket, requests: RequestSocket, onProblem: (message: string) => void) {
    this.#monitor = monitor
    this.#requests = requests
    const ask: RequestSocket['ask'] = (wanted) => requests.ask(wanted)
    this.#secondaries = new PromoteSecondaries({ ask, read: readPromoteSecondaries, onProblem })
  }

  links(): readonly Link[] | undefined {
    return this.#lookAgainUnless(readLinks(this.#requests))
  }

  addresses(): readonly PresentAddress[] | undefined {
    return this.#lookAgainUnless(readAddresses(this.#requests))
  }

  apply(steps: readonly AddressStep[], nameOf: NameOf): readonly AddressOutcome[] {
    this.#monitor.expect(steps)
    for (const step of steps) this.#secondaries.prepare(step, nameOf)
    return applySteps(this.#requests, steps, nameOf)
  }

  settle(interfaceIndex: number): void {
    waitForKernel(this.#requests, interfaceIndex)
  }

  watch(deliver: (event: NetworkEvent) => void): void {
    this.#deliver = deliver
    this.drain()
    this.#monitor.start(() => this.drain())
  }

  /**
   * Delivers queued events. The receiver of an event may call this method again; further events come after those that
   * still wait.
   */
  drain(): void {
    if (this.#deliver === undefined) return
    const { messages, lost, stale } = this.#monitor.take()
    for (const message of messages) {
      const event = eventOf(message)
      if (event !== undefined) this.#pending.push(event)
    }
    if (lost) this.#pending.push({ kind: 'resync' })
    else if (stale) {
      for (const present of this.#monitor.takeUnreported(this.addresses() ?? []))
        this.#pending.push({ kind: 'addressAdded', present })
    }
    for (let event = this.#pending.shift(); event !== undefined; event = this.#pending.shift()) this.#deliver?.(event)
  }

  close(): void {
    this.#deliver = undefined
    this.#secondaries.restore()
    clearTimeout(this.#lookAgain)
    this.#monitor.close()
    this.#requests.close()
  }

  /** Requests another reading soon if `list` is undefined, because the kernel's table changed during every dump. */
  #lookAgainUnless<T>(list: T | undefined): T | undefined {
    if (list === undefined) {
      this.#lookAgain ??= setTimeout(() => {
        this.#lookAgain = undefined
        this.#pending.push({ kind: 'resync' })
        this.drain()
      }, LOOK_AGAIN_MS)
    }
    return list
  }
}
