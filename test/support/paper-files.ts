/** Files of one address on paper, behind the daemon's AddressFilePort. Says what the test writes; decides nothing. */
import type { NamedAddress } from '../../src/config/named-address.ts'
import type { AddressFilePort } from '../../src/daemon/ports.ts'
import { address } from '../../src/wire/address.ts'

/** An address, or why there is none. */
export type Written = { readonly address: string } | { readonly problem: string }
const MISSING: Written = { problem: 'it does not exist' }

const readingOf = (written: Written): NamedAddress['reading'] =>
  'address' in written ? { address: address(written.address) } : written

export class PaperFiles implements AddressFilePort {
  readonly #written = new Map<string, Written>()
  /** What was to be followed, each time. */
  readonly asked: string[][] = []
  #onNews: Parameters<AddressFilePort['follow']>[1] = () => {}

  follow(files: readonly string[], onNews: Parameters<AddressFilePort['follow']>[1]) {
    this.asked.push([...files])
    this.#onNews = onNews
    return new Map(files.map((file) => [file, readingOf(this.#written.get(file) ?? MISSING)]))
  }

  /** Told at once to whoever follows it. */
  write(file: string, written: Written): void {
    this.#written.set(file, written)
    if (this.asked.at(-1)?.includes(file)) this.#onNews(file, readingOf(written))
  }

  close(): void {}
}
