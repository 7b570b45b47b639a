/**
 * Looks for other programs on HAProxy's ports while HAProxy does not answer. This file decides when it looks: not while HAProxy
 * is only restarted.
 */
import { bindPorts, takenPorts } from '../../decisions/haproxy/taken-ports.ts'
import { textIn } from '../machine.ts'
import { portHolders } from '../port-holders.ts'

/** Milliseconds without a good answer after which HAProxy is not just being restarted. */
const SILENT_FOR = 5_000

export class PortWatch {
  readonly #file: string
  readonly #onTaken: (holders: string) => void
  /** Time of the next look; `undefined` while HAProxy answers. */
  #lookAt: number | undefined
  #told = ''

  /** `file`: path of haproxy.cfg. `onTaken` is called once for the same programs, with their addresses as text. */
  constructor(file: string, onTaken: (holders: string) => void) {
    this.#file = file
    this.#onTaken = onTaken
  }

  heard(isGood: boolean, now: number): void {
    if (isGood) {
      this.#lookAt = undefined
      this.#told = ''
      return
    }
    this.#lookAt ??= now + SILENT_FOR
    if (now < this.#lookAt) return
    this.#lookAt = now + SILENT_FOR
    const holders = this.#holders()
    if (holders !== '' && holders !== this.#told) this.#onTaken(holders)
    this.#told = holders
  }

  #holders(): string {
    const ports = bindPorts(textIn(this.#file) ?? '')
    const found = new Map(ports.map((port) => [port, portHolders(port, ['tcp'])]))
    const taken = takenPorts(ports, (port) => (found.get(port) ?? []).length > 0)
    return taken.flatMap((port) => found.get(port) ?? []).join(', ')
  }
}
