/**
 * The ledger names every VIP that this node may have installed. The sweep at start knows the VIPs of the present configuration
 * by itself; the ledger is for those that a changed configuration no longer names (ground rule 4). Decided here: when the list
 * changes, which is before the first VIP can be installed and after the last one is gone. ledger-file.ts keeps it.
 */
import type { ResolvedRouter } from '../../config/resolve.ts'
import { ownsAddresses } from '../../vrrp/parameters.ts'
import type { Address } from '../../wire/address.ts'

export type LedgerEntry = { readonly address: Address; readonly prefixLength: number; readonly interfaceName: string }

/** Memory that outlives the daemon; the simulator keeps it in a variable. A problem is text for people. */
export type AddressMemory = {
  read(): { readonly entries: readonly LedgerEntry[]; readonly problem: string | undefined }
  /** Replaces the list. Returns immediately, whatever the disk does. */
  write(entries: readonly LedgerEntry[]): void
}

/** Memory of a node that keeps nothing. */
export const NO_MEMORY: AddressMemory = { read: () => ({ entries: [], problem: undefined }), write: () => {} }

/** The ledger of this run: grows when an interface is found for a router, shrinks only after a clean stop. */
export class AddressLedger {
  readonly #memory: Pick<AddressMemory, 'write'>
  readonly #entries = new Map<string, LedgerEntry>()
  /** The memory has a list of this run. */
  #written = false

  constructor(memory: Pick<AddressMemory, 'write'>) {
    this.#memory = memory
  }

  /** Names the addresses of these routers, before the first can be installed: for `auto` the interface may be found late. */
  cover(resolved: readonly ResolvedRouter[]): void {
    this.add(
      resolved.flatMap(({ forms, interfaceName: own, parameters }) =>
        ownsAddresses(parameters)
          ? []
          : forms.flatMap(({ address, prefixLength, interfaceName = own }) =>
              interfaceName === undefined ? [] : { address, prefixLength, interfaceName },
            ),
      ),
    )
  }

  /** Call it before the addresses can be installed. */
  add(entries: readonly LedgerEntry[]): void {
    const before = this.#entries.size
    for (const entry of entries) {
      this.#entries.set(`${entry.address}/${entry.prefixLength} ${entry.interfaceName}`, entry)
    }
    if (this.#entries.size !== before) this.#write()
  }

  /**
   * Keeps only the entries that `stays` names. Call it after the others were removed from the kernel, never before: no later run
   * removes an address that the ledger does not name.
   */
  retain(stays: (entry: LedgerEntry) => boolean): void {
    const before = this.#entries.size
    for (const [key, entry] of this.#entries) if (!stays(entry)) this.#entries.delete(key)
    if (this.#entries.size !== before || !this.#written) this.#write()
  }

  #write(): void {
    this.#written = true
    this.#memory.write([...this.#entries.values()])
  }
}
