/**
 * Records which nodes of a lab had an address at which time, from the notifications of their kernels, which are more
 * exact than regular questions. A time is the time at which this process received the notification: a few ms late, but
 * in the right order.
 */
import type { Host, Lab } from '../lab.ts'
import { LoggedProcess } from '../logged-process.ts'
import { spansIn, sumOf } from './history.ts'

export type HolderAccount = {
  /** Sum of the milliseconds in which no node had the address, between the two times. */
  readonly nobody: number
  readonly several: number
  /** Names of the nodes that have the address at the end. */
  readonly holders: readonly string[]
}

export class HolderHistory {
  readonly #address: string
  readonly #first: readonly string[]
  readonly #monitors: readonly { readonly host: Host; readonly process: LoggedProcess }[]

  constructor(lab: Lab, address: string) {
    this.#address = address
    this.#monitors = lab.routers.map((host) => ({
      host,
      process: new LoggedProcess(lab, host, ['stdbuf', '-oL', 'ip', '-4', '-o', 'monitor', 'address']),
    }))
    this.#first = lab.holders(address)
  }

  between(from: number, to: number): HolderAccount {
    const news = this.#monitors
      .flatMap(({ host, process }) =>
        process.lines
          .filter(({ text }) => text.includes(` ${this.#address}/`))
          .map(({ at, text }) => ({ at, host: host.name, has: !text.startsWith('Deleted') })),
      )
      .sort((one, other) => one.at - other.at)
    const now = new Set(this.#first)
    const changes = [{ at: Number.NEGATIVE_INFINITY, holders: [...now] }]
    for (const { at, has, host } of news) {
      if (has) now.add(host)
      else now.delete(host)
      changes.push({ at, holders: [...now] })
    }
    const sum = (wanted: (count: number) => boolean) => sumOf(spansIn(changes, wanted, { from, to }))
    const holders = changes.findLast(({ at }) => at <= to)?.holders ?? []
    return { nobody: sum((count) => count === 0), several: sum((count) => count > 1), holders }
  }
}
