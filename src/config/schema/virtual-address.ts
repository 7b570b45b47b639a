/**
 * One virtual address as a file writes it, and what that means for the kernel: where it is installed, as which network
 * and with which label. Decided here: that a prefix selects the network and nothing else, unless the file wants it
 * installed as written (docs/architecture.md, Addresses). This file does not know which addresses go into a packet.
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
  /** Where it is installed, if that is another interface than the router's. */
  readonly interface?: string | undefined
}

const WANTED = 'an IP address or { address, label, interface } wanted'

const entry = section(
  {
    address: networkAddress().describe('The address'),
    label: pattern(/^[!-~]{1,15}$/, 'a label of up to 15 printable ASCII characters without blanks wanted')
      .optional()
      .describe('IPv4: label of the address in the kernel'),
    interface: interfaceName().optional().describe('Installed there, instead of on the interface of the router'),
  },
  'a mapping with address wanted',
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
      { error: WANTED },
    )
    .transform((value): VirtualAddress => value)

/** How an address is in the kernel. */
export type AddressForm = {
  readonly address: Address
  readonly prefixLength: number
  /** Absent: the interface of the router. */
  readonly interfaceName?: string | undefined
  readonly label?: string | undefined
}

export type PlacedAddress = { readonly entry: VirtualAddress; readonly path: Path }

/** The keys of a virtual router that say which addresses it has, and how. */
type Keys = { readonly addresses: readonly VirtualAddress[]; readonly excludedAddresses: readonly VirtualAddress[] }
type PrefixKeys = { readonly addressPrefix?: 'host' | 'written' | undefined; readonly profile: ProfileName }
type OwnerKeys = {
  readonly ownAddresses?: OwnAddresses | undefined
  readonly priority: number
  readonly profile: ProfileName
}
type FormKeys = Keys & PrefixKeys & { readonly interface: unknown }

/** Those of the packet, then the others. */
export const allAddresses = ({ addresses, excludedAddresses }: Keys): readonly PlacedAddress[] => [
  ...addresses.map((entry, index) => ({ entry, path: ['addresses', index] })),
  ...excludedAddresses.map((entry, index) => ({ entry, path: ['excludedAddresses', index] })),
]

/** VR-CFG-06: installed and announced like the others, and not in the packet. */
export const heldAddresses = (router: Keys): readonly Address[] =>
  allAddresses(router).map(({ entry }) => entry.address)

export const installsAsWritten = ({ addressPrefix, profile }: PrefixKeys): boolean =>
  (addressPrefix ?? (profile === 'keepalived' ? 'written' : 'host')) === 'written'

/** Undefined: nothing of the kind is asked, without priority 255. */
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

/** Interfaces besides its own. */
export const otherInterfaces = (router: FormKeys): readonly string[] => [
  ...new Set(addressForms(router).flatMap(({ interfaceName }) => interfaceName ?? [])),
]
