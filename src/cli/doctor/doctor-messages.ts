/**
 * Messages between two doctors, which show whether the VRRP group passes in both directions: each sends its id and the
 * ids that it has heard. This file decides the format (JSON in UDP), and that a foreign packet does no harm. This file
 * knows no sockets.
 */
import type { MessageCounts } from '../../doctor/measurement.ts'
import type { Address } from '../../wire/address.ts'

/** UDP port of messages between doctors. The port of the doctors differs from the port of the HTTP API. */
export const MESSAGE_PORT = 9656
const MOST = 64
const KIND = 'holdfast-doctor'

type Known = { readonly from: Address; packets: number; hearsUs: boolean }

export class PeerMessages {
  readonly #id: string
  readonly #known = new Map<string, Known>()

  /** Creates the messages of this doctor. `id` names this doctor and must be unique on the LAN. */
  constructor(id: string) {
    this.#id = id
  }

  message(): Uint8Array {
    const content = { kind: KIND, version: 1, id: this.#id, heard: [...this.#known.keys()] }
    return new TextEncoder().encode(JSON.stringify(content))
  }

  /** Counts a message of another doctor. Never throws, because any host may send any bytes. */
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

  get heard(): MessageCounts['heard'] {
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
  if (typeof value !== 'object' || value === null || !('kind' in value) || value.kind !== KIND) return undefined
  if (!('id' in value) || typeof value.id !== 'string' || value.id.length > 32) return undefined
  return { id: value.id, heard: 'heard' in value && Array.isArray(value.heard) ? value.heard : [] }
}
