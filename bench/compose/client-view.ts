/**
 * Reads the JSON reports of the lab's client (deploy/compose/client.ts). A report names the node that answers at a
 * virtual address, how long no node answered there, and how long two nodes claimed the address. This file decides that
 * a fault is judged by the reports that come after the fault. Pure. This file does not know which fault was made.
 */
export type Line = Readonly<Record<string, unknown>> & { readonly address: string; readonly event: string }

export type Sight = {
  /** Longest time between two answers to the client, in ms; 0 if the client lost fewer than three probes. */
  readonly outageMs: number
  readonly lost: number
  /** Time in which two nodes claimed the virtual address, in ms. */
  readonly overlapMs: number
  /** Names of the nodes that answered the client, one entry for each change of the answering node. */
  readonly holders: readonly string[]
}

/**
 * Returns the report in a line of the client's output; `undefined` if the line is not a report, because other programs
 * may write there too.
 */
export function lineOf(text: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || !('address' in value) || !('event' in value)) return undefined
    return { ...value, address: String(value.address), event: String(value.event) }
  } catch {
    return undefined
  }
}

const count = (value: unknown): number => (typeof value === 'number' ? value : 0)
const claimants = (line: Line | undefined): number => (Array.isArray(line?.macs) ? line.macs.length : 0)

export class ClientView {
  readonly #lines: Line[] = []

  take(line: Line): void {
    this.#lines.push(line)
  }

  /** Returns the number of reports so far. since() takes this number to select the reports after it. */
  get mark(): number {
    return this.#lines.length
  }

  get addresses(): readonly string[] {
    return [...new Set(this.#lines.map(({ address }) => address))]
  }

  #of(address: string, event: string, mark = 0): readonly Line[] {
    return this.#lines.slice(mark).filter((line) => line.address === address && line.event === event)
  }

  /** Returns the name of the node that answered the client last at this virtual address. */
  holder(address: string): string | undefined {
    const last = this.#of(address, 'holder').at(-1)
    return last === undefined ? undefined : String(last.name)
  }

  /** Returns how many nodes claim the virtual address now. */
  claimants(address: string): number {
    return claimants(this.#of(address, 'claim').at(-1))
  }

  since(mark: number, address: string): Sight {
    const gaps = this.#of(address, 'gap', mark)
    const longest = Math.max(0, ...gaps.map(({ ms }) => count(ms)))
    const claims = this.#of(address, 'claim', mark)
    const overlapMs = claims.reduce((sum, claim, i) => {
      const next = claims[i + 1]
      return claimants(claim) > 1 && next !== undefined ? sum + count(next.t) - count(claim.t) : sum
    }, 0)
    return {
      outageMs: longest,
      lost: gaps.reduce((sum, { lost }) => sum + count(lost), 0),
      overlapMs,
      holders: this.#of(address, 'holder', mark).map(({ name }) => String(name)),
    }
  }
}
