/**
 * Models a node that runs keepalived: its kernel, the VRRP process, and the parent process that watches the VRRP
 * process. This file decides the effect of each fault on kernel and processes. No guardian removes addresses: after a
 * kill the addresses stay in the kernel until keepalived starts again. This file does not know when a fault comes, and
 * which node answers.
 */
import { type Check, checksOf } from '../../config/checks.ts'
import type { Config } from '../../config/config.ts'
import type { NodeView } from '../../config/node-view.ts'
import { CheckBoard } from '../../daemon/health/check-board.ts'
import { Checks } from '../node/checks.ts'
import { Timers } from '../node/local-clock.ts'
import { Machine, type MachineContext, type RouterStatus, STARTS } from '../node/machine.ts'
import type { Cancel } from '../virtual-time.ts'
import type { Carried } from '../wire.ts'
import { KeepalivedDaemon } from './keepalived-daemon.ts'
import type { Vrrp } from './keepalived-packets.ts'

/** Milliseconds from the arrival of a packet until the VRRP process runs. */
const WAKES = 0.05
/** Milliseconds after which the parent process has started a dead VRRP process again. */
const RESPAWNS = 40
/** Number of packets that a receive buffer of default size holds. */
const MOST_QUEUED = 256

/**
 * Returns the check as keepalived runs it: the state is unknown before the first result, and init_fail has no effect
 * (VR-TRK-05, SX-SC06).
 */
function fromFirstResult(check: Check): Check {
  if (check.kind === 'combination') return check
  const { spec } = check
  return { ...check, spec: { ...spec, rule: { ...spec.rule, initial: 'firstResult' } } }
}

type Life = {
  readonly daemon: KeepalivedDaemon
  readonly timers: Timers
  readonly checks: Checks
  readonly board: CheckBoard
  readonly queue: Vrrp[]
  readonly inbox: (() => void)[]
  alarm: Cancel | undefined
}

export class KeepalivedNode extends Machine {
  readonly #context: MachineContext
  #config: Config
  #serviceIsWell = true
  readonly #failing = new Set<string>()
  #life: Life | undefined
  /** State of the parent process; `undefined`: the parent process does not run. */
  #parent: 'runs' | 'frozen' | undefined
  #frozen = false
  #polling = false
  /** True if the VRRP process has received SIGTERM while it was stopped (SIGSTOP). */
  #isEnding = false
  #startsAgain = false

  constructor(name: string, position: number, context: MachineContext) {
    super(name, position, context, true)
    this.#context = context
    this.#config = context.config
  }

  get config(): Config {
    return this.#config
  }

  routerStatus(): readonly RouterStatus[] | undefined {
    return this.#life?.daemon.routerStatus()
  }

  protected hear(carried: Carried): void {
    const life = this.#life
    if (carried.kind !== 'vrrp' || life === undefined || life.queue.length >= MOST_QUEUED) return
    life.queue.push(carried)
    this.wake()
  }

  // Start and end --------------------------------------------------------------------------------------------------

  /** Starts keepalived. If an earlier keepalived on this node is still stopping, the start happens after its end. */
  start(): void {
    this.#startsAgain = this.#isEnding
    if (this.#life !== undefined || this.#parent !== undefined || !this.powered) return
    this.#parent = 'runs'
    this.#startChild()
  }

  #startChild(): void {
    const { chance, lateness, note, time } = this.#context
    const { clock, kernel } = this
    const timers = new Timers(time, clock, () => lateness * chance())
    const inbox: (() => void)[] = []
    const board = new CheckBoard()
    const checks = new Checks({
      ...{ clock, timers, chance, isWell: (check) => this.#serviceIsWell && !this.#failing.has(check) },
      post: (act) => {
        inbox.push(act)
        this.wake()
      },
    })
    const daemon = new KeepalivedDaemon(this.#config, this.#view, {
      ...{ kernel, send: (carried) => this.send(carried), check: (name) => board.of(name) },
      isUp: () => kernel.carrier,
      onAnnounce: (instance, copies) => note(this.name, `announces ${instance} ${copies} times`),
      onState: (instance, state, priority) => note(this.name, `${instance} enters ${state} with ${priority}`),
    })
    const life: Life = { daemon, timers, checks, board, inbox, queue: [], alarm: undefined }
    this.#life = life
    this.#frozen = false
    note(this.name, 'starts keepalived')
    const port = kernel.port()
    board.set(checksOf(this.#config).map(fromFirstResult), clock.now())
    checks.onNews((news) => {
      if (news.kind === 'healthChanged') board.hear([news.report], clock.now())
      else if (news.kind === 'checkBeat') board.hear(news.reports, clock.now())
      else return
      daemon.retrack(clock.now())
    })
    checks.set(board.specs, [])
    daemon.start(clock.now())
    port.watch((event) => {
      if (event.kind === 'link') daemon.retrack(clock.now())
      if (event.kind === 'addressRemoved') daemon.lookAtAddresses(clock.now())
    })
    this.#arm(life)
  }

  get #view(): NodeView {
    const addresses = this.#context.own.map(({ address, prefixLength }) => ({ address, prefixLength }))
    return { interfaces: [{ name: this.#context.interfaceName, mtu: 1500, addresses }] }
  }

  /** Handles SIGTERM: sends priority 0 and removes the addresses immediately. */
  terminate(): void {
    if (this.#parent === undefined) return
    this.#isEnding = true
    if (this.#parent === 'runs') this.#leave()
  }

  /** Ends the VRRP process if it has been ordered to end and is not stopped. */
  #leave(): void {
    const life = this.#life
    if (!this.#isEnding || this.#frozen) return
    this.#isEnding = false
    life?.daemon.stop()
    this.#endLife()
    this.#parent = undefined
    this.#context.note(this.name, 'has left')
    if (this.#startsAgain) this.#context.time.after(STARTS, () => this.start())
  }

  killEngine(): void {
    if (this.#life === undefined) return
    this.#context.note(this.name, 'its VRRP process is killed')
    this.#endLife()
    this.#context.time.after(RESPAWNS, () => this.#respawn())
  }

  #respawn(): void {
    if (this.#parent === 'runs' && this.#life === undefined) this.#startChild()
  }

  /** Kills the parent process. The kernel then notifies the VRRP process, which ends itself. */
  killGuardian(): void {
    if (this.#parent === undefined) return
    this.#context.note(this.name, 'its parent process is killed')
    this.#parent = undefined
    this.#isEnding = true
    this.#leave()
  }

  killBoth(): void {
    this.#context.note(this.name, 'keepalived is killed')
    this.vanish()
  }

  protected vanish(): void {
    this.#parent = undefined
    this.#isEnding = false
    this.#endLife()
  }

  #endLife(): void {
    const life = this.#life
    this.#life = undefined
    this.#frozen = false
    life?.timers.clear()
    this.kernel.forgetWatch()
  }

  // Stalls ------------------------------------------------------------------------------------------------------------

  freezeEngine(): void {
    if (this.#life === undefined) return
    this.#frozen = true
    this.#life.timers.hold()
  }

  thawEngine(): void {
    if (!this.#frozen) return
    this.#frozen = false
    if (this.#isEnding && this.#parent !== 'frozen') return this.#leave()
    this.#life?.timers.release()
    this.wake()
  }

  freezeGuardian(): void {
    if (this.#parent !== undefined) this.#parent = 'frozen'
  }

  thawGuardian(): void {
    if (this.#parent !== 'frozen') return
    this.#parent = 'runs'
    if (this.#isEnding) return this.#leave()
    this.#respawn()
  }

  // Orders ---------------------------------------------------------------------------------------------------------

  /** Makes keepalived read its new configuration (SIGHUP). */
  reload(config: Config): void {
    this.#config = config
    const life = this.#life
    if (life === undefined || this.#frozen || this.#parent !== 'runs') return
    life.daemon.reload(config, this.clock.now())
    this.#arm(life)
  }

  /** Does nothing: keepalived has no order to yield. */
  yield(): void {}

  /** Sets whether services work. keepalived's check scripts notice the change at their next run. */
  setService(isWell: boolean, checks?: readonly string[]): void {
    if (checks === undefined) this.#serviceIsWell = isWell
    for (const check of checks ?? []) {
      if (isWell) this.#failing.delete(check)
      else this.#failing.add(check)
    }
  }

  // The process's loop ------------------------------------------------------------------------------------------------

  protected wake(): void {
    if (this.#polling || this.#frozen || this.#life === undefined) return
    this.#polling = true
    this.#context.time.after(WAKES, () => {
      this.#polling = false
      this.#turn()
    })
  }

  /** Runs the process's loop once: first reads the packets that wait, then handles timers. */
  #turn(): void {
    const life = this.#life
    if (life === undefined || this.#frozen) return
    const { daemon, inbox, queue } = life
    this.kernel.readNews()
    for (const packet of queue.splice(0)) daemon.receive(packet, this.clock.now())
    for (const act of inbox.splice(0)) act()
    daemon.expire(this.clock.now())
    this.#arm(life)
  }

  /**
   * Sets the alarm in whole microseconds and never too early. After an early alarm no timer would be due, and the alarm
   * would be set for the same time again.
   */
  #arm(life: Life): void {
    life.alarm?.()
    const { deadline } = life.daemon
    const wait = Math.max(0, Math.ceil((deadline - this.clock.now()) * 1_000) / 1_000)
    life.alarm = deadline === Number.POSITIVE_INFINITY ? undefined : life.timers.after(wait, () => this.#turn())
  }
}
