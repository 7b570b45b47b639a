/**
 * Where in the kernel each address of one router is to be, and how: interface, prefix length, label. Remembers
 * addresses that a reload has dropped, because they still have to be removed. Refuses to know which of them are wanted
 * now.
 */
import type { AddressForm } from '../../config/schema/virtual-address.ts'
import type { Address } from '../../wire/address.ts'
import type { WantedAddress } from '../ports.ts'

/** The interface of the router, and how others are found. */
export type Base = {
  readonly interfaceIndex: number
  /** Returns `undefined` if there is no interface of that name. */
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

  /** Returns `undefined` if its interface is not there, so the address cannot be either. */
  at(address: Address, base: Base): WantedAddress | undefined {
    const form = this.#forms.get(address)
    if (form === undefined) return undefined
    const { interfaceName, label, prefixLength } = form
    const interfaceIndex = interfaceName === undefined ? base.interfaceIndex : base.indexOf(interfaceName)
    if (interfaceIndex === undefined) return undefined
    return { interfaceIndex, address, prefixLength, ...(label === undefined ? {} : { label }) }
  }

  /** Returns the places of those addresses that have one. */
  all(addresses: readonly Address[], base: Base): readonly WantedAddress[] {
    return addresses.flatMap((address) => this.at(address, base) ?? [])
  }
}

const formsBy = (forms: readonly AddressForm[]) => new Map(forms.map((form) => [form.address, form]))
