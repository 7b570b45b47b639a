/**
 * What two doctors say to each other, to find out whether VRRP's group passes both ways: each says who it is and whom it has
 * heard. Decided here: the words (JSON in UDP), and that nothing a stranger sends can do harm. Refuses to know sockets.
 */
import type { Beacon } from '../../doctor/measurement.ts'
import type { Address } from '../../wire/address.ts'

/** Beside that of the HTTP API; nobody has to listen there. */
export const BEACON_PORT = 9656
const MOST = 64
const WORD = 'holdfast-doctor'

type Known = { readonly from: Address; packets: number; hearsUs: boolean }

export class BeaconLedger {
  readonly #id: string
  readonly #known = new Map<string, Known>()

  /** `id`: unique on the LAN. */
  constructor(id: string) {
    this.#id = id
  }

  words(): Uint8Array {
    const words = { kind: WORD, version: 1, id: this.#id, heard: [...this.#known.keys()] }
    return new TextEncoder().encode(JSON.stringify(words))
  }

  /** Never throws: anybody may send anything. */
  hear(bytes: Uint8Array, from: Address): void {
    const said = read(bytes)
    if (said === undefined || said.id === this.#id) return
    const known = this.#known.get(said.id)
    if (known === undefined && this.#known.size >= MOST) return
    const one = known ?? { from, packets: 0, hearsUs: false }
    one.packets++
    one.hearsUs ||= said.heard.includes(this.#id)
    this.#known.set(said.id, one)
  }

  get heard(): Beacon['heard'] {
    return [...this.#known.values()].map(({ from, hearsUs, packets }) => ({ from, hearsUs, packets }))
  }
}

function read(bytes: Uint8Array): { readonly id: string; readonly heard: readonly unknown[] } | undefined {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || !('kind' in value) || value.kind !== WORD) return undefined
  if (!('id' in value) || typeof value.id !== 'string' || value.id.length > 32) return undefined
  return { id: value.id, heard: 'heard' in value && Array.isArray(value.heard) ? value.heard : [] }
}
