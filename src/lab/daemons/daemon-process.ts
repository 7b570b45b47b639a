/**
 * The process of a daemon in a lab: its lines, its end, and its signals, as a parent that watches and one child that speaks VRRP
 * take them. A daemon of another form overrides what differs.
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

  /** Sends SIGKILL to the process that speaks VRRP, like a crash. Its parent lives. */
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
