/**
 * Runs the engine of a simulated node once, from its start to its end. The engine is the product's own (src/daemon),
 * behind simulated ports. `node.ts` decides when the run begins, when the engine has the CPU, and how the run ends.
 */
import type { Config } from '../../config/config.ts'
import type { AddressMemory } from '../../daemon/addresses/ledger.ts'
import { Daemon, type DaemonOptions, type DaemonPorts } from '../../daemon/daemon.ts'
import { type Later, Recorder } from '../../daemon/telemetry/recorder.ts'
import type { Tape } from '../../recording/tape.ts'
import { type EngineOrders, type OrderedDaemon, tapedDaemon } from '../../recording/taped-daemon.ts'
import type { Carried } from '../wire.ts'
import { Checks } from './checks.ts'
import type { Guardian } from './guardian.ts'
import type { Kernel } from './kernel.ts'
import { type LocalClock, Timers } from './local-clock.ts'
import type { MachineContext } from './machine.ts'
import { Sockets } from './sockets.ts'

/** Safety nets that a test takes away from a node, to show that each is needed. */
export type Without = 'guardian' | 'lifetime' | 'drain' | 'absence'

export type NodeContext = MachineContext & {
  readonly without: Without | undefined
  /** Returns the tape that records a run of the engine on the node; `undefined`: the run is not recorded. */
  readonly tapeOf?: ((node: string) => Tape) | undefined
}

export type Life = {
  readonly daemon: Daemon
  readonly orders: EngineOrders
  readonly tape: Tape | undefined
  readonly timers: Timers
  readonly sockets: Sockets
  readonly checks: Checks
  readonly recorder: Recorder
  readonly inbox: (() => void)[]
  leaving: boolean
}

export type LifeOptions = {
  readonly name: string
  readonly clock: LocalClock
  readonly kernel: Kernel
  readonly config: Config
  readonly guardian: Guardian
  readonly memory: AddressMemory
  readonly send: (carried: Carried) => void
  readonly isWell: (check: string) => boolean
  /** Called when a packet, notification or message for the engine has arrived. */
  readonly wake: () => void
  /** Calls the function as one turn of the engine's event loop. */
  readonly turn: (act: () => void) => void
  readonly later: Later
}

export function newLife(context: NodeContext, options: LifeOptions): Life {
  const { chance, lateness, note, time } = context
  const { clock, config, isWell, kernel, later, memory, name, send, turn, wake } = options
  const timers = new Timers(time, clock, () => lateness * chance())
  const carrier = () => kernel.carrier
  const sockets = new Sockets({ clock, mac: kernel.mac, carrier, send, onReadable: wake })
  const inbox: (() => void)[] = []
  const post = (act: () => void) => {
    inbox.push(act)
    wake()
  }
  const checks = new Checks({ clock, timers, chance, isWell, post })
  const tape = context.tapeOf?.(name)
  const elapsed = () => clock.now()
  const clocks = { wall: () => clock.wall(), monotonic: elapsed }
  const recorder = tape?.recorder(elapsed, later, clocks) ?? new Recorder(elapsed, later, clocks)
  recorder.attach(({ message }) => note(name, message))
  const ports: DaemonPorts = {
    ...{ checks, recorder, random: chance },
    clock: { now: () => clock.now(), asleep: () => clock.asleep() },
    network: kernel.port(),
    sockets: sockets.port(),
    guardian: heardByTheLoop(options.guardian, post),
    addressMemory: memory,
    schedule: (callback, wait) => timers.after(wait, () => turn(callback)),
    onGuardianLost: () => {
      life.leaving = true
    },
  }
  const { daemon, orders } = daemonWith(config, ports, context, tape)
  const life: Life = { daemon, orders, tape, timers, sockets, checks, recorder, inbox, leaving: false }
  return life
}

function daemonWith(
  config: Config,
  ports: DaemonPorts,
  { without }: NodeContext,
  tape: Tape | undefined,
): OrderedDaemon {
  const options: DaemonOptions = { drainBeforeExpire: without !== 'drain', noticeAbsence: without !== 'absence' }
  if (tape !== undefined) return tapedDaemon(tape, config, ports, options)
  const daemon = new Daemon(config, ports, options)
  return { daemon, orders: daemon }
}

/** Returns the engine's port to the guardian. The guardian's wake-ups reach the engine over its event loop. */
function heardByTheLoop(guardian: Guardian, post: (act: () => void) => void): ReturnType<Guardian['port']> {
  const port = guardian.port()
  return {
    ...port,
    listen: (onCall: () => void) => port.listen(() => post(onCall)),
    get executions() {
      return port.executions
    },
    get guarded() {
      return port.guarded
    },
    get armed() {
      return port.armed
    },
  }
}
