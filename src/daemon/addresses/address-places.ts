/**
 * Knows where the kernel has one router's addresses: interface, prefix length and label. Addresses that a reload
 * removed from the configuration are remembered, because they still have to be uninstalled. This file knows nothing
 * about which addresses are wanted now.
 */
import { defined } from '../../base/defined.ts'
import type { AddressForm } from '../../config/schema/virtual-address.ts'
import type { Address } from '../../wire/address.ts'
import type { WantedAddress } from '../ports.ts'

/** Interface of the router, and a function that finds other interfaces. */
export type Base = {
  readonly interfaceIndex: number
  /** Returns the kernel's index of an interface; `undefined` if no interface has that name. */
  indexOf(interfaceName: string): number | undefined
}

export class AddressPlaces {
  readonly #forms: Map<Address, AddressForm>

  constructor(forms: readonly AddressForm[]) {
    this.#forms = formsBy(forms)
  }

  follow(forms: readonly AddressForm[]): void {
    for (const [address, form] of formsBy(forms)) this.#forms.set(address, form)
  }

  /** Returns interface and prefix length for an address; `undefined` if the interface does not exist. */
  at(address: Address, base: Base): WantedAddress | undefined {
    const form = this.#forms.get(address)
    if (form === undefined) return undefined
    const { interfaceName, label, prefixLength } = form
    const interfaceIndex = interfaceName === undefined ? base.interfaceIndex : base.indexOf(interfaceName)
    if (interfaceIndex === undefined) return undefined
    return { interfaceIndex, address, prefixLength, ...defined({ label }) }
  }

  /** Returns interface and prefix length for each address whose interface exists. */
  all(addresses: readonly Address[], base: Base): readonly WantedAddress[] {
    return addresses.flatMap((address) => this.at(address, base) ?? [])
  }
}

const formsBy = (forms: readonly AddressForm[]) => new Map(forms.map((form) => [form.address, form]))
