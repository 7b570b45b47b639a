/**
 * Models a node without its daemon: its clock, its kernel, its power and its station on the LAN. This file decides what
 * remains on the node after its processes have ended. A stopped machine receives nothing. This file does not know which
 * daemon runs on the node.
 */
import type { Config } from '../../config/config.ts'
import type { PresentAddress } from '../../daemon/ports.ts'
import type { Mac } from '../../wire/mac.ts'
import type { Chance } from '../chance.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { Carried, Station, Wire } from '../wire.ts'
import { Kernel, macOf } from './kernel.ts'
import { LocalClock, Timers } from './local-clock.ts'

/** Milliseconds after which a service manager has started an ended daemon again. */
export const STARTS = 150

export type MachineContext = {
  readonly time: VirtualTime
  readonly wire: Wire
  readonly chance: Chance
  /** Longest time in ms by which a timer fires too late. */
  readonly lateness: number
  /** Speed of the node's clock; 1 is the right speed. */
  readonly rate: number
  readonly interfaceName: string
  readonly own: readonly PresentAddress[]
  readonly config: Config
  readonly note: (node: string, text: string) => void
  readonly onDefect: (node: string, error: unknown) => void
  readonly onChange: () => void
}

/** State of a virtual router at this moment. */
export type RouterStatus = {
  readonly router: string
  /** Name of the router's state in RFC 9568. */
  readonly state: string
  /** Effective priority of the router. */
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
  #halted = false

  /** Creates the machine. `expires`: addresses disappear from the kernel at the end of their lifetime. */
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
    return this.#powered && !this.#halted && this.kernel.carrier
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
        `sends priority ${carried.bytes[2]} in ${carried.bytes[1]} to ${carried.destination}`,
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

  /**
   * Stops the whole machine. `noticed`: its kernel knows for how long (suspend). If `noticed` is false, a hypervisor
   * stops the machine.
   */
  stand(): void {
    this.#context.note(this.name, 'stands still')
    this.#halted = true
    this.clock.stand()
    this.#kernelTimers.hold()
    this.freezeEngine()
    this.freezeGuardian()
    this.#context.onChange()
  }

  goOn(noticed: boolean): void {
    if (!this.#halted) return
    this.#context.note(this.name, 'goes on')
    this.#halted = false
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
  /** Returns the states of the node's virtual routers; `undefined` if no process runs that could report them. */
  abstract routerStatus(): readonly RouterStatus[] | undefined

  /** Starts the daemon as a service manager does, unless the daemon runs already. */
  abstract start(): void
  /** Sends SIGTERM to the daemon. */
  abstract terminate(): void
  /** Sends SIGKILL to the process that runs the VRRP election. */
  abstract killEngine(): void
  /** Sends SIGKILL to the process that watches the process with the VRRP election. */
  abstract killGuardian(): void
  abstract killBoth(): void
  abstract freezeEngine(): void
  abstract thawEngine(): void
  abstract freezeGuardian(): void
  abstract thawGuardian(): void
  abstract reload(config: Config): void
  abstract yield(ms: number): void
  /** Sets whether the services of the named checks are up; without names, the services of all checks. */
  abstract setService(isWell: boolean, checks?: readonly string[]): void

  /** Called with a packet that has arrived for the node's processes. */
  protected abstract hear(carried: Carried): void
  /** Called when the kernel has queued a notification for the node's processes. */
  protected abstract wake(): void
  /** Removes the processes of the node together with their memory. */
  protected abstract vanish(): void
  /** Called when the processes of the node continue after a suspension of the machine. */
  protected noticeSleep(): void {}
}
