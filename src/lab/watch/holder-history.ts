/**
 * Which nodes of a lab had an address when, by the kernels' own news: finer than any samples. Decides when nobody and when more
 * than one had it. Times are those at which the news reached us, a few ms late and in one order.
 */
import type { Host, Lab } from '../lab.ts'
import { LoggedProcess } from '../logged-process.ts'

export type HolderAccount = {
  /** ms in sum between the two moments. */
  readonly nobody: number
  readonly several: number
  /** At the end. */
  readonly holders: readonly string[]
}
type News = { readonly at: number; readonly host: string; readonly has: boolean }

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
    const news: News[] = this.#monitors
      .flatMap(({ host, process }) =>
        process.lines
          .filter(({ text }) => text.includes(` ${this.#address}/`))
          .map(({ at, text }) => ({ at, host: host.name, has: !text.startsWith('Deleted') })),
      )
      .sort((one, other) => one.at - other.at)
    const holders = new Set(this.#first)
    const sum = { nobody: 0, several: 0 }
    let since = from
    const count = (until: number) => {
      const ms = Math.max(0, Math.min(until, to) - since)
      if (holders.size === 0) sum.nobody += ms
      if (holders.size > 1) sum.several += ms
      since = Math.max(since, Math.min(until, to))
    }
    for (const { at, host, has } of news.filter((each) => each.at <= to)) {
      count(at)
      if (has) holders.add(host)
      else holders.delete(host)
    }
    count(to)
    return { ...sum, holders: [...holders] }
  }
}
