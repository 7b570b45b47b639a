/**
 * A node of a simulation that runs keepalived: its kernel, the process that elects and the one that watches over that. Decided
 * here: what each fault does to which of them. Nobody guards its addresses: they stay in the kernel of a node whose processes
 * are killed, until it starts again. Refuses to know when a fault comes, and who answers.
 */
import { type Check, checksOf } from '../../config/checks.ts'
import type { Config } from '../../config/config.ts'
import type { NodeView } from '../../config/node-view.ts'
import { CheckBoard } from '../../daemon/health/check-board.ts'
import { Checks } from '../node/checks.ts'
import { Timers } from '../node/local-clock.ts'
import { Machine, type MachineContext, STARTS, type Standing } from '../node/machine.ts'
import type { Cancel } from '../virtual-time.ts'
import type { Carried } from '../wire.ts'
import { KeepalivedDaemon } from './keepalived-daemon.ts'
import type { Vrrp } from './keepalived-packets.ts'

/** From a packet until its process runs. */
const WAKES = 0.05
/** Until the process that watches has started the other one anew. */
const RESPAWNS = 40
/** Of a default receive buffer. */
const MOST_QUEUED = 256

/** It does not heed init_fail (VR-TRK-05, SX-SC06). */
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
  /** The process that watches. */
  #parent: 'runs' | 'frozen' | undefined
  #frozen = false
  #polling = false
  /** To go, by a signal that a stopped process has not seen yet. */
  #isTold = false
  #startsAgain = false

  constructor(name: string, position: number, context: MachineContext) {
    super(name, position, context, true)
    this.#context = context
    this.#config = context.config
  }

  get config(): Config {
    return this.#config
  }

  standings(): readonly Standing[] | undefined {
    return this.#life?.daemon.standings()
  }

  protected hear(carried: Carried): void {
    const life = this.#life
    if (carried.kind !== 'vrrp' || life === undefined || life.queue.length >= MOST_QUEUED) return
    life.queue.push(carried)
    this.wake()
  }

  // Lives ----------------------------------------------------------------------------------------------------------

  /** One that has still to leave is started when it has left. */
  start(): void {
    this.#startsAgain = this.#isTold
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

  /** SIGTERM: priority 0, addresses off, at once. */
  terminate(): void {
    if (this.#parent === undefined) return
    this.#isTold = true
    if (this.#parent === 'runs') this.#leave()
  }

  /** Whoever is told to go, and runs, goes. */
  #leave(): void {
    const life = this.#life
    if (!this.#isTold || this.#frozen) return
    this.#isTold = false
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

  /** The other one is told by the kernel, and leaves. */
  killGuardian(): void {
    if (this.#parent === undefined) return
    this.#context.note(this.name, 'its parent process is killed')
    this.#parent = undefined
    this.#isTold = true
    this.#leave()
  }

  killBoth(): void {
    this.#context.note(this.name, 'keepalived is killed')
    this.vanish()
  }

  protected vanish(): void {
    this.#parent = undefined
    this.#isTold = false
    this.#endLife()
  }

  #endLife(): void {
    const life = this.#life
    this.#life = undefined
    this.#frozen = false
    life?.timers.clear()
    this.kernel.forgetWatch()
  }

  // What stands still -------------------------------------------------------------------------------------------------

  freezeEngine(): void {
    if (this.#life === undefined) return
    this.#frozen = true
    this.#life.timers.hold()
  }

  thawEngine(): void {
    if (!this.#frozen) return
    this.#frozen = false
    if (this.#isTold && this.#parent !== 'frozen') return this.#leave()
    this.#life?.timers.release()
    this.wake()
  }

  freezeGuardian(): void {
    if (this.#parent !== undefined) this.#parent = 'frozen'
  }

  thawGuardian(): void {
    if (this.#parent !== 'frozen') return
    this.#parent = 'runs'
    if (this.#isTold) return this.#leave()
    this.#respawn()
  }

  // Orders ---------------------------------------------------------------------------------------------------------

  /** SIGHUP. */
  reload(config: Config): void {
    this.#config = config
    const life = this.#life
    if (life === undefined || this.#frozen || this.#parent !== 'runs') return
    life.daemon.reload(config, this.clock.now())
    this.#arm(life)
  }

  /** It has no such order. */
  yield(): void {}

  /** Scripts find out when they run. */
  setService(isWell: boolean, checks?: readonly string[]): void {
    if (checks === undefined) this.#serviceIsWell = isWell
    for (const check of checks ?? []) {
      if (isWell) this.#failing.delete(check)
      else this.#failing.add(check)
    }
  }

  // Its loop -------------------------------------------------------------------------------------------------------

  protected wake(): void {
    if (this.#polling || this.#frozen || this.#life === undefined) return
    this.#polling = true
    this.#context.time.after(WAKES, () => {
      this.#polling = false
      this.#turn()
    })
  }

  /** What waits is read first, whatever timers say. */
  #turn(): void {
    const life = this.#life
    if (life === undefined || this.#frozen) return
    const { daemon, inbox, queue } = life
    this.kernel.readNews()
    for (const packet of queue.splice(0)) daemon.hear(packet, this.clock.now())
    for (const act of inbox.splice(0)) act()
    daemon.expire(this.clock.now())
    this.#arm(life)
  }

  /** In whole microseconds and never early: an alarm that finds nothing due would be set for the same moment again. */
  #arm(life: Life): void {
    life.alarm?.()
    const { deadline } = life.daemon
    const wait = Math.max(0, Math.ceil((deadline - this.clock.now()) * 1_000) / 1_000)
    life.alarm = deadline === Number.POSITIVE_INFINITY ? undefined : life.timers.after(wait, () => this.#turn())
  }
}
