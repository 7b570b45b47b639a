/**
 * An engine whose every input and output goes onto a tape. Decided here: that whoever gives it orders gives them here, so
 * that none is missed. Refuses to know where the tape ends up.
 */
import type { Config } from '../config/config.ts'
import { Daemon, type DaemonOptions, type DaemonPorts } from '../daemon/daemon.ts'
import type { Tape } from './tape.ts'
import { tapedPorts } from './taped-ports.ts'

/** What can be ordered; everything else that an engine can be asked changes nothing. */
export type EngineOrders = Pick<Daemon, 'start' | 'stop' | 'yield' | 'reload' | 'close'>

export type OrderedDaemon = { readonly daemon: Daemon; readonly orders: EngineOrders }

/** `ports.recorder` is the tape's. */
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
