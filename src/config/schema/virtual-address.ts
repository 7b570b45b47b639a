/**
 * One virtual address in a configuration, and its form in the kernel: interface, prefix length and label. A prefix
 * length only selects the network, unless the configuration asks to install it as written (docs/architecture.md,
 * Addresses). This file knows nothing about which addresses a packet contains.
 */
import * as z from 'zod'
import type { OwnAddresses } from '../../vrrp/parameters.ts'
import type { ProfileName } from '../../vrrp/profile.ts'
import { type Address, familyOf } from '../../wire/address.ts'
import { hostPrefixLength } from '../network.ts'
import type { Path } from '../problem.ts'
import { interfaceName, type NetworkAddress, networkAddress, pattern, section } from './field.ts'

export type VirtualAddress = NetworkAddress & {
  readonly label?: string | undefined
  /** Interface on which the address is installed, if that is not the router's interface. */
  readonly interface?: string | undefined
}

const EXPECTED = 'an IP address or { address, label, interface }'

const entry = section(
  {
    address: networkAddress().describe('The virtual address'),
    label: pattern(/^[!-~]{1,15}$/, 'a label of up to 15 printable ASCII characters without blanks')
      .optional()
      .describe('IPv4 only: label of the address in the kernel'),
    interface: interfaceName()
      .optional()
      .describe('Interface on which the address is installed, default: that of the router'),
  },
  'a mapping with address',
)

export const virtualAddress = () =>
  z
    .union(
      [
        networkAddress(),
        entry.transform(({ address: { address, prefixLength }, label, interface: on }) => ({
          address,
          prefixLength,
          label,
          interface: on,
        })),
      ],
      { error: EXPECTED },
    )
    .transform((value): VirtualAddress => value)

/** Form of a virtual address in the kernel: interface, prefix length and label. */
export type AddressForm = {
  readonly address: Address
  readonly prefixLength: number
  /** Interface on which the address is installed; absent if that is the router's interface. */
  readonly interfaceName?: string | undefined
  readonly label?: string | undefined
}

export type PlacedAddress = { readonly entry: VirtualAddress; readonly path: Path }

/** Keys of a virtual router that list its addresses. */
type Keys = { readonly addresses: readonly VirtualAddress[]; readonly excludedAddresses: readonly VirtualAddress[] }
type PrefixKeys = { readonly addressPrefix?: 'host' | 'written' | undefined; readonly profile: ProfileName }
type OwnerKeys = {
  readonly ownAddresses?: OwnAddresses | undefined
  readonly priority: number
  readonly profile: ProfileName
}
type FormKeys = Keys & PrefixKeys & { readonly interface: unknown }

/** Returns the addresses of the advertisement, then the excluded addresses. */
export const allAddresses = ({ addresses, excludedAddresses }: Keys): readonly PlacedAddress[] => [
  ...addresses.map((entry, index) => ({ entry, path: ['addresses', index] })),
  ...excludedAddresses.map((entry, index) => ({ entry, path: ['excludedAddresses', index] })),
]

/** Returns all addresses of a router. Excluded addresses are installed and announced like the others (VR-CFG-06). */
export const heldAddresses = (router: Keys): readonly Address[] =>
  allAddresses(router).map(({ entry }) => entry.address)

/** Tells whether VIPs are installed with the prefix length of the configuration (otherwise /32 or /128). */
export const installsAsWritten = ({ addressPrefix, profile }: PrefixKeys): boolean =>
  (addressPrefix ?? (profile === 'keepalived' ? 'written' : 'host')) === 'written'

/** Returns the meaning of priority 255; `undefined` for any other priority. */
export const ownAddressesOf = ({ ownAddresses, priority, profile }: OwnerKeys): OwnAddresses | undefined =>
  priority === 255 ? (ownAddresses ?? (profile === 'keepalived' ? 'installed' : 'node')) : undefined

export function addressForms(router: FormKeys): readonly AddressForm[] {
  const asWritten = installsAsWritten(router)
  return allAddresses(router).map(({ entry: { address, prefixLength, interface: on, label } }) => ({
    address,
    prefixLength: (asWritten ? prefixLength : undefined) ?? hostPrefixLength(familyOf(address)),
    interfaceName: on === router.interface ? undefined : on,
    label,
  }))
}

/** Returns the interfaces on which the router has addresses, except its own interface. */
export const otherInterfaces = (router: FormKeys): readonly string[] => [
  ...new Set(addressForms(router).flatMap(({ interfaceName }) => interfaceName ?? [])),
]
