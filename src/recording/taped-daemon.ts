/**
 * An engine whose inputs and outputs go onto a tape. Decided here: all orders to the engine pass through here, so that
 * none is missed. Does not know where the tape is written.
 */
import type { Config } from '../config/config.ts'
import { Daemon, type DaemonOptions, type DaemonPorts } from '../daemon/daemon.ts'
import type { Tape } from './tape.ts'
import { tapedPorts } from './taped-ports.ts'

/** Orders to an engine. All other requests change nothing. */
export type EngineOrders = Pick<Daemon, 'start' | 'stop' | 'yield' | 'reload' | 'close'>

export type OrderedDaemon = { readonly daemon: Daemon; readonly orders: EngineOrders }

/** Makes the engine. `ports.recorder` is the tape's. */
export function tapedDaemon(
  tape: Tape,
  config: Config,
  ports: DaemonPorts,
  options: DaemonOptions = { drainBeforeExpire: true },
): OrderedDaemon {
  const has = (['checks', 'notify', 'addressFiles'] as const).filter((port) => ports[port] !== undefined)
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
