/**
 * Models one node that runs holdfast: a kernel, a guardian and an engine. The engine is the product's own (src/daemon),
 * behind simulated ports. This file decides the effect of each fault on kernel, guardian and engine. If the engine
 * throws, that is a defect. This file does not know when a fault comes, and which node answers.
 */
import type { Config } from '../../config/config.ts'
import type { LedgerEntry } from '../../daemon/addresses/ledger.ts'
import type { Daemon } from '../../daemon/daemon.ts'
import type { Carried } from '../wire.ts'
import { type Life, type NodeContext, newLife } from './engine-life.ts'
import { Guardian } from './guardian.ts'
import { Timers } from './local-clock.ts'
import { Machine, type RouterStatus, STARTS } from './machine.ts'

/** Milliseconds from the arrival of a packet or message until the engine runs. */
const WAKES = 0.02
/** Milliseconds from the end of a process until the process that watches it runs. */
const NOTICED = 0.3
/** Milliseconds between two beats of the guardian, as in native/guardian/heartbeat.h. */
const BEAT = 250

export class SimulatedNode extends Machine {
  #serviceIsWell = true
  readonly #failing = new Set<string>()
  #config: Config
  readonly #context: NodeContext
  #guardian: Guardian | undefined
  #life: Life | undefined
  #frozen = false
  #polling = false
  #startsAgain = false
  #tell: (() => void) | undefined
  /** Entries of the ledger file in the run directory, which outlives the engine. */
  #memory: readonly LedgerEntry[] = []

  constructor(name: string, position: number, context: NodeContext) {
    super(name, position, context, context.without !== 'lifetime')
    this.#context = context
    this.#config = context.config
  }

  get daemon(): Daemon | undefined {
    return this.#life?.daemon
  }

  get config(): Config {
    return this.#config
  }

  routerStatus(): readonly RouterStatus[] | undefined {
    return this.#life?.daemon.snapshot().routers.map(({ addresses, faults, name: router, priority, state }) => ({
      ...{ router, state, faults, priority: priority.effective, addresses: addresses.map((each) => each.address) },
    }))
  }

  protected hear(carried: Carried): void {
    this.#life?.sockets.take(carried)
  }

  // Start and end --------------------------------------------------------------------------------------------------

  /**
   * Starts the daemon as a service manager does, unless the daemon runs. If an earlier daemon is still stopping, the
   * start happens after its end.
   */
  start(): void {
    if (this.#life?.leaving === true) this.#startsAgain = true
    if (this.#life !== undefined || !this.powered) return
    this.#startsAgain = false
    const { note, without } = this.#context
    const { clock, kernel, name } = this
    const send = (carried: Carried) => this.send(carried)
    this.#guardian = new Guardian({
      ...{ clock, kernel, send, timers: new Timers(this.#context.time, clock, () => 0.1 * this.#context.chance()) },
      note: (text) => note(name, text),
      executes: without !== 'guardian',
    })
    const life = newLife(this.#context, {
      ...{ name, clock, kernel, send, config: this.#config, guardian: this.#guardian },
      memory: {
        read: () => ({ entries: this.#memory, problem: undefined }),
        write: (entries) => {
          this.#memory = entries
        },
      },
      isWell: (check) => this.#serviceIsWell && !this.#failing.has(check),
      wake: () => this.wake(),
      turn: (act) => this.#turn(act),
      later: (deliver) => {
        this.#tell = deliver
      },
    })
    this.#life = life
    note(name, 'starts')
    this.#turn(() => life.orders.start())
  }

  /** Sends SIGTERM to the engine. */
  terminate(): void {
    const life = this.#life
    if (life === undefined || this.#frozen) return
    life.leaving = true
    this.#turn(() => void life.orders.stop())
  }

  /** Sends SIGKILL to the engine. The guardian notices the death of its engine. */
  killEngine(): void {
    if (this.#life === undefined) return
    this.#context.note(this.name, 'its engine is killed')
    const guardian = this.#guardian
    this.#endLife()
    this.#context.time.after(NOTICED, () => guardian?.engineGone())
  }

  /** Sends SIGKILL to the guardian. The engine notices that and leaves. */
  killGuardian(): void {
    this.#context.note(this.name, 'its guardian is killed')
    this.#guardian?.kill()
  }

  /**
   * Sends SIGKILL to engine and guardian. The kernel continues to answer for the addresses until their lifetime ends.
   */
  killBoth(): void {
    this.#context.note(this.name, 'engine and guardian are killed')
    this.#guardian?.leave()
    this.#endLife()
  }

  protected vanish(): void {
    this.#guardian?.leave()
    this.#endLife()
    this.#memory = []
  }

  #endLife(): void {
    const life = this.#life
    this.#life = undefined
    this.#guardian = undefined
    this.#frozen = false
    life?.tape?.off()
    life?.timers.clear()
    life?.sockets.closeAll()
    this.kernel.forgetWatch()
  }

  // Stalls ------------------------------------------------------------------------------------------------------------

  freezeEngine(): void {
    this.#frozen = true
    this.#life?.timers.hold()
  }

  thawEngine(): void {
    if (!this.#frozen) return
    this.#frozen = false
    this.#life?.timers.release()
    this.wake()
  }

  freezeGuardian(): void {
    this.#guardian?.stop()
  }

  thawGuardian(): void {
    this.#guardian?.goOn()
  }

  protected override noticeSleep(): void {
    this.#guardian?.callAfterSleep(BEAT * this.#context.chance())
  }

  // Orders ---------------------------------------------------------------------------------------------------------

  reload(config: Config): void {
    this.#config = config
    const life = this.#life
    if (life === undefined || this.#frozen) return
    this.#turn(() => void life.orders.reload(config))
  }

  yield(ms: number): void {
    const life = this.#life
    if (life === undefined || this.#frozen) return
    this.#turn(() => {
      for (const { name } of life.daemon.routerSummaries()) life.orders.yield(name, ms)
    })
  }

  /** Sets whether the services of the named checks are up; without names, the services of all checks. */
  setService(isWell: boolean, checks?: readonly string[]): void {
    if (checks === undefined) this.#serviceIsWell = isWell
    for (const check of checks ?? []) {
      if (isWell) this.#failing.delete(check)
      else this.#failing.add(check)
    }
    this.#life?.checks.prompt()
  }

  // The event loop -------------------------------------------------------------------------------------------------

  protected wake(): void {
    if (this.#polling || this.#frozen || this.#life === undefined) return
    this.#polling = true
    this.#context.time.after(WAKES, () => {
      this.#polling = false
      this.#poll()
    })
  }

  #poll(): void {
    const life = this.#life
    if (life === undefined || this.#frozen) return
    this.#turn(() => {
      this.kernel.readNews()
      life.sockets.poll()
      for (const act of life.inbox.splice(0)) act()
    })
    if (this.#life === life && (this.kernel.hasNews || life.sockets.readable || life.inbox.length > 0)) this.wake()
  }

  #turn(act: () => void): void {
    const life = this.#life
    if (life === undefined) return
    try {
      act()
    } catch (error) {
      this.#context.onDefect(this.name, error)
      this.killEngine()
      return
    }
    const tell = this.#tell
    this.#tell = undefined
    tell?.()
    if (life.leaving && life.daemon.routerSummaries().every(({ state }) => state === 'Initialize')) this.#exit(life)
  }

  #exit(life: Life): void {
    life.leaving = false
    life.orders.close()
    life.tape?.end('the daemon has left')
    const guardian = this.#guardian
    this.#context.note(this.name, 'has left')
    this.#endLife()
    guardian?.engineGone()
    if (this.#startsAgain) this.#context.time.after(STARTS, () => this.start())
  }

  /** True while the engine runs and is not stopped, so that it can report its status. */
  get runs(): boolean {
    return this.#life !== undefined && !this.#frozen
  }
}
