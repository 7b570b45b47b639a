/**
 * Replaces the files that name a virtual address, without a disk, behind the daemon's AddressFilePort. The test sets
 * their content. This file decides nothing.
 */
import type { NamedAddress } from '../../src/config/named-address.ts'
import type { AddressFilePort } from '../../src/daemon/ports.ts'
import { address } from '../../src/wire/address.ts'

/** Content of a file: an address, or the reason why the file names none. */
export type Written = { readonly address: string } | { readonly problem: string }
const MISSING: Written = { problem: 'it does not exist' }

const readingOf = (written: Written): NamedAddress['reading'] =>
  'address' in written ? { address: address(written.address) } : written

export class PaperFiles implements AddressFilePort {
  readonly #written = new Map<string, Written>()
  /** Names of the files that the daemon follows, one list for each request of the daemon. */
  readonly asked: string[][] = []
  #onNews: Parameters<AddressFilePort['follow']>[1] = () => {}

  follow(files: readonly string[], onNews: Parameters<AddressFilePort['follow']>[1]) {
    this.asked.push([...files])
    this.#onNews = onNews
    return new Map(files.map((file) => [file, readingOf(this.#written.get(file) ?? MISSING)]))
  }

  /** Sets the content of a file and reports it immediately to the routers that follow the file. */
  write(file: string, written: Written): void {
    this.#written.set(file, written)
    if (this.asked.at(-1)?.includes(file)) this.#onNews(file, readingOf(written))
  }

  close(): void {}
}
