/** Handles the signals of a running daemon. This file decides the order that each signal gives. */
import type { Daemon } from '../daemon/daemon.ts'
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import type { DumpKind } from '../keepalived/dump.ts'
import { LOG } from '../log/log.ts'

export type SignalOrders = {
  readonly leave: (trigger: string) => void
  readonly reload: (trigger: string) => void
  /**
   * Writes a dump file as keepalived does; `undefined`: the signal makes the daemon log the states of the routers
   * instead.
   */
  readonly dump: ((kind: DumpKind) => void) | undefined
}

export function listenToSignals(
  daemon: Pick<Daemon, 'snapshot'>,
  recorder: Pick<Recorder, 'log'>,
  { leave, reload, dump }: SignalOrders,
): void {
  process.on('SIGTERM', leave)
  process.on('SIGINT', leave)
  // Without a listener, SIGUSR1 would open Node's debugger, and SIGUSR2 would kill the engine.
  for (const [signal, kind] of [
    ['SIGUSR1', 'data'],
    ['SIGUSR2', 'stats'],
  ] as const) {
    process.on(signal, () => {
      // A dump causes no log line, because monitors request one every few seconds.
      if (dump !== undefined) return dump(kind)
      for (const router of daemon.snapshot().routers) {
        recorder.log(LOG.routerShown, `${router.name}: ${router.state} since ${router.since} (${router.reason})`, {
          router: router.name,
          snapshot: router,
        })
      }
    })
  }
  process.on('SIGHUP', reload)
}
