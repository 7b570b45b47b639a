/**
 * The ledger lists every VIP that this node may have installed. The sweep at the start knows the VIPs of the present
 * configuration. For VIPs that are no longer in the configuration the sweep needs the ledger (ground rule 4: no VIP
 * outlives its holder). This file decides that the ledger changes before the first VIP can be installed, and after the
 * last VIP was removed. The module ledger-file.ts stores the ledger.
 */
import type { ResolvedRouter } from '../../config/resolve.ts'
import { ownsAddresses } from '../../vrrp/parameters.ts'
import type { Address } from '../../wire/address.ts'

export type LedgerEntry = { readonly address: Address; readonly prefixLength: number; readonly interfaceName: string }

/** Storage of the ledger that outlives the daemon; the simulator uses a variable. A problem is a text for people. */
export type AddressMemory = {
  read(): { readonly entries: readonly LedgerEntry[]; readonly problem: string | undefined }
  /** Replaces the stored list of VIPs. Returns immediately, however slow the disk is. */
  write(entries: readonly LedgerEntry[]): void
}

/** Storage for a node without a run directory: nothing is stored. */
export const NO_MEMORY: AddressMemory = { read: () => ({ entries: [], problem: undefined }), write: () => {} }

/**
 * Ledger of this run of the daemon. Entries are added when an interface is found for a router, and removed only after a
 * clean stop.
 */
export class AddressLedger {
  readonly #memory: Pick<AddressMemory, 'write'>
  readonly #entries = new Map<string, LedgerEntry>()
  /** True if this run of the daemon has stored a list of VIPs. */
  #written = false

  constructor(memory: Pick<AddressMemory, 'write'>) {
    this.#memory = memory
  }

  /**
   * Adds the addresses of these routers to the ledger before the first of them can be installed. With `interface: auto`
   * the interface may be found late.
   */
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

  /** Adds entries to the ledger. The caller must do this before the addresses can be installed. */
  add(entries: readonly LedgerEntry[]): void {
    const before = this.#entries.size
    for (const entry of entries) {
      this.#entries.set(`${entry.address}/${entry.prefixLength} ${entry.interfaceName}`, entry)
    }
    if (this.#entries.size !== before) this.#write()
  }

  /**
   * Removes the entries for which `stays` returns false. The caller must first remove the addresses of these entries
   * from the kernel, because no later run removes an address that is not in the ledger.
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
