/**
 * What the lab's client said (deploy/compose/client.ts, as JSON): who answers at each address, for how long nobody did, for
 * how long two had it. Decides that a fault is judged by what was said after it. Pure; refuses to know the faults.
 */
export type Line = Readonly<Record<string, unknown>> & { readonly address: string; readonly event: string }

export type Sight = {
  /** The longest time between two answers, ms; 0: none of three probes or more. */
  readonly outageMs: number
  readonly lost: number
  /** In which two said that they have the address, ms. */
  readonly overlapMs: number
  /** Who answered, each time that it was another. */
  readonly owners: readonly string[]
}

/** Undefined where it is none: somebody else may write there, too. */
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

  /** Now, for since(). */
  get mark(): number {
    return this.#lines.length
  }

  get addresses(): readonly string[] {
    return [...new Set(this.#lines.map(({ address }) => address))]
  }

  #of(address: string, event: string, mark = 0): readonly Line[] {
    return this.#lines.slice(mark).filter((line) => line.address === address && line.event === event)
  }

  /** Who answered last. */
  owner(address: string): string | undefined {
    const last = this.#of(address, 'owner').at(-1)
    return last === undefined ? undefined : String(last.name)
  }

  /** How many say that they have it. */
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
      owners: this.#of(address, 'owner', mark).map(({ name }) => String(name)),
    }
  }
}
