/**
 * Decodes the bytes that a measuring program writes (bench/native/gauge.h). This file decides the layout of a record,
 * and that a chunk of bytes may end in the middle of a record. Pure. This file does not know the meaning of the
 * records.
 */
export const KINDS = ['begin', 'sent', 'reply', 'asked', 'claim', 'announced', 'end'] as const
export type Kind = (typeof KINDS)[number]

/** One record of a measuring program. Times are CLOCK_MONOTONIC in ms with fractions (monotonicMs()). */
export type Entry = {
  readonly kind: Kind
  readonly number: number
  /** Sequence number of a probe or question, or a MAC address as a number, depending on the kind of the record. */
  readonly value: number
  readonly at: number
  readonly other: number
}

const LENGTH = 32
const NANOS_PER_MS = 1e6

export class JournalReader {
  #rest = new Uint8Array(0)

  /**
   * Returns the complete records that have arrived so far. The byte order of the records is little endian on every
   * supported architecture.
   */
  take(chunk: Uint8Array): Entry[] {
    const bytes = new Uint8Array(this.#rest.length + chunk.length)
    bytes.set(this.#rest)
    bytes.set(chunk, this.#rest.length)
    const view = new DataView(bytes.buffer)
    const entries: Entry[] = []
    let offset = 0
    for (; offset + LENGTH <= bytes.length; offset += LENGTH) {
      const kind = KINDS[view.getUint32(offset, true) - 1]
      if (kind === undefined) throw new Error(`Cannot read the gauge: no record at byte ${offset} of a chunk`)
      entries.push({
        kind,
        number: view.getUint32(offset + 4, true),
        value: Number(view.getBigUint64(offset + 8, true)),
        at: Number(view.getBigInt64(offset + 16, true)) / NANOS_PER_MS,
        other: Number(view.getBigInt64(offset + 24, true)) / NANOS_PER_MS,
      })
    }
    this.#rest = bytes.slice(offset)
    return entries
  }
}

/** Returns the MAC address in the notation of iproute2 (colons, lower case). */
export const macOfNumber = (value: number): string =>
  (value.toString(16).padStart(12, '0').match(/../g) ?? []).join(':')
