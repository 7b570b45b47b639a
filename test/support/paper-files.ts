/**
 * Address files without a disk, behind the daemon's AddressFilePort. They contain the test's text and decide nothing.
 */
import type { NamedAddress } from '../../src/config/named-address.ts'
import type { AddressFilePort } from '../../src/daemon/ports.ts'
import { address } from '../../src/wire/address.ts'

/** An address, or the reason why there is none. */
export type Written = { readonly address: string } | { readonly problem: string }
const MISSING: Written = { problem: 'it does not exist' }

const readingOf = (written: Written): NamedAddress['reading'] =>
  'address' in written ? { address: address(written.address) } : written

export class PaperFiles implements AddressFilePort {
  readonly #written = new Map<string, Written>()
  /** Files to follow, as each request named them. */
  readonly asked: string[][] = []
  #onNews: Parameters<AddressFilePort['follow']>[1] = () => {}

  follow(files: readonly string[], onNews: Parameters<AddressFilePort['follow']>[1]) {
    this.asked.push([...files])
    this.#onNews = onNews
    return new Map(files.map((file) => [file, readingOf(this.#written.get(file) ?? MISSING)]))
  }

  /** Sets the content of a file and reports it to its followers immediately. */
  write(file: string, written: Written): void {
    this.#written.set(file, written)
    if (this.asked.at(-1)?.includes(file)) this.#onNews(file, readingOf(written))
  }

  close(): void {}
}
