/**
 * An engine whose inputs and actions are recorded. All orders to the engine pass through this wrapper, so that the
 * recording has every order.
 */
import type { Config } from '../config/config.ts'
import { Daemon, type DaemonOptions, type DaemonPorts } from '../daemon/daemon.ts'
import type { Tape } from './tape.ts'
import { tapedPorts } from './taped-ports.ts'

/** Orders to an engine. All other calls of an engine change nothing. */
export type EngineOrders = Pick<Daemon, 'start' | 'stop' | 'yield' | 'reload' | 'close'>

export type OrderedDaemon = { readonly daemon: Daemon; readonly orders: EngineOrders }

/** Makes an engine that is recorded. `ports.recorder` is the Recorder of the tape. */
export function tapedDaemon(
  tape: Tape,
  config: Config,
  ports: DaemonPorts,
  options: DaemonOptions = { drainBeforeExpire: true },
): OrderedDaemon {
  const clock = ports.guardian.clock === undefined ? [] : (['clock'] as const)
  const given = (['checks', 'notify', 'addressFiles'] as const).filter((port) => ports[port] !== undefined)
  const has = [...given, ...clock]
  const daemon = tape.enter({ in: 'create', config: tape.configured(config), ...options, has }, () => {
    return new Daemon(config, tapedPorts(tape, ports), options)
  })
  return {
    daemon,
    orders: {
      start: () => tape.enter({ in: 'start' }, () => daemon.start()),
      stop: () => tape.enter({ in: 'stop' }, () => daemon.stop()),
      close: () => tape.enter({ in: 'close' }, () => daemon.close()),
      yield: (router, forMs) => tape.enter({ in: 'yield', router, forMs }, () => daemon.yield(router, forMs)),
      reload: (next, diff, bearer) =>
        tape.enter({ in: 'reload', config: tape.configured(next), bearer }, () => daemon.reload(next, diff, bearer)),
    },
  }
}
