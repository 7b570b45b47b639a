/**
 * A node of a simulation without what runs on it: its clock, its kernel, its power and its place on the LAN. Decided here: what
 * is left when its processes are gone, and that whoever stands still hears nothing. Refuses to know which daemon it is for.
 */
import type { Config } from '../../config/config.ts'
import type { PresentAddress } from '../../daemon/ports.ts'
import type { Mac } from '../../wire/mac.ts'
import type { Chance } from '../chance.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { Carried, Station, Wire } from '../wire.ts'
import { Kernel, macOf } from './kernel.ts'
import { LocalClock, Timers } from './local-clock.ts'

/** A process that ends is started again by whoever watches it, and a start takes so long. */
export const STARTS = 150

export type MachineContext = {
  readonly time: VirtualTime
  readonly wire: Wire
  readonly chance: Chance
  /** Up to so many ms a timer fires late. */
  readonly lateness: number
  /** 1 = its clock is right. */
  readonly rate: number
  readonly interfaceName: string
  readonly own: readonly PresentAddress[]
  readonly config: Config
  readonly note: (node: string, text: string) => void
  readonly onDefect: (node: string, error: unknown) => void
  readonly onChange: () => void
}

/** How a router of its daemon stands. */
export type Standing = {
  readonly router: string
  /** In the words of RFC 9568. */
  readonly state: string
  /** Effective. */
  readonly priority: number
  readonly addresses: readonly string[]
  readonly faults: readonly string[]
}

export abstract class Machine implements Station {
  readonly name: string
  readonly position: number
  readonly clock: LocalClock
  kernel: Kernel
  readonly #context: MachineContext
  readonly #expires: boolean
  readonly #kernelTimers: Timers
  #powered = true
  #standing = false

  /** `expires`: lifetimes of addresses end. */
  constructor(name: string, position: number, context: MachineContext, expires: boolean) {
    this.name = name
    this.position = position
    this.#context = context
    this.#expires = expires
    this.clock = new LocalClock(context.time, context.rate)
    this.#kernelTimers = new Timers(context.time, this.clock)
    this.kernel = this.#bootKernel()
    context.wire.stations.set(name, this)
  }

  get mac(): Mac {
    return this.kernel.mac
  }

  get connected(): boolean {
    return this.#powered && !this.#standing && this.kernel.carrier
  }

  protected get powered(): boolean {
    return this.#powered
  }

  take(carried: Carried): void {
    if (carried.kind === 'frame') this.kernel.answer(carried.bytes)
    this.hear(carried)
  }

  protected send(carried: Carried): void {
    if (carried.kind === 'vrrp')
      this.#context.note(
        this.name,
        `says priority ${carried.bytes[2]} in ${carried.bytes[1]} to ${carried.destination}`,
      )
    this.#context.wire.send(this.name, carried)
  }

  #bootKernel(): Kernel {
    const send = (bytes: Uint8Array) => this.send({ kind: 'frame', bytes })
    const { interfaceName, onChange, own } = this.#context
    const onNews = () => this.wake()
    const [expires, timers] = [this.#expires, this.#kernelTimers]
    return new Kernel(macOf(this.position + 1), own, { interfaceName, timers, send, onNews, onChange, expires })
  }

  powerOff(): void {
    this.#context.note(this.name, 'loses power')
    this.vanish()
    this.#powered = false
    this.#kernelTimers.clear()
    this.#context.onChange()
  }

  powerOn(): void {
    if (this.#powered) return
    this.#powered = true
    this.kernel = this.#bootKernel()
    this.#context.onChange()
    this.start()
  }

  /** The whole machine. `noticed`: its kernel knows (suspend), or a hypervisor has taken its time away. */
  stand(): void {
    this.#context.note(this.name, 'stands still')
    this.#standing = true
    this.clock.stand()
    this.#kernelTimers.hold()
    this.freezeEngine()
    this.freezeGuardian()
    this.#context.onChange()
  }

  goOn(noticed: boolean): void {
    if (!this.#standing) return
    this.#context.note(this.name, 'goes on')
    this.#standing = false
    this.clock.goOn(noticed)
    this.#kernelTimers.release()
    this.#context.onChange()
    const guardianFirst = this.#context.chance() < 0.5
    if (guardianFirst) this.thawGuardian()
    this.thawEngine()
    if (!guardianFirst) this.thawGuardian()
    if (noticed) this.noticeSleep()
  }

  abstract get config(): Config
  /** Undefined: nobody runs who could say. */
  abstract standings(): readonly Standing[] | undefined

  /** The service manager starts its daemon, unless it runs. */
  abstract start(): void
  /** SIGTERM. */
  abstract terminate(): void
  /** SIGKILL of the process that elects. */
  abstract killEngine(): void
  /** SIGKILL of the process beside it. */
  abstract killGuardian(): void
  abstract killBoth(): void
  abstract freezeEngine(): void
  abstract thawEngine(): void
  abstract freezeGuardian(): void
  abstract thawGuardian(): void
  abstract reload(config: Config): void
  abstract yield(ms: number): void
  /** Of the checks that are named; without names, what all of them ask. */
  abstract setService(isWell: boolean, checks?: readonly string[]): void

  /** Something has come for its processes. */
  protected abstract hear(carried: Carried): void
  /** The kernel has news. */
  protected abstract wake(): void
  /** Its processes are gone, and what they kept in memory. */
  protected abstract vanish(): void
  /** It was suspended, and its processes go on. */
  protected noticeSleep(): void {}
}
