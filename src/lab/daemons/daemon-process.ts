/**
 * Controls the process of a VRRP daemon in a lab: its log lines, its end and its signals. By default, the daemon is a
 * parent process that watches one child process, and the child speaks VRRP. The class of a daemon with other processes
 * overrides what differs.
 */
import type { Exit, LoggedLine, LoggedProcess } from '../logged-process.ts'

export class DaemonProcess {
  readonly process: LoggedProcess

  constructor(process: LoggedProcess) {
    this.process = process
  }

  get lines(): readonly LoggedLine[] {
    return this.process.lines
  }

  get exited(): Promise<Exit> {
    return this.process.exited
  }

  get running(): boolean {
    return this.process.exit === undefined
  }

  terminate(): number {
    return this.process.signal('SIGTERM')
  }

  /**
   * Sends SIGKILL to the process that speaks VRRP, as a crash would end it. The daemon's parent process lives on.
   * Returns the time of the signal in ms.
   */
  killEngine(): number {
    return this.process.signalChild('SIGKILL')
  }

  killAll(): number {
    return this.process.killFamily()
  }

  freeze(): number {
    return this.process.signalChild('SIGSTOP')
  }

  thaw(): number {
    return this.process.signalChild('SIGCONT')
  }
}
