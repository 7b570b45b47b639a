/**
 * Compares the virtual addresses with the addresses that the node has now. If an address owner (priority 255) has
 * `ownAddresses: node`, the node must have the addresses. For any other router, the node must not have them. An owner
 * that installs its addresses must not touch the node's own addresses. This file decides which address is the node's
 * own, and which address an earlier run or another daemon left for the sweep. No address is removed here.
 */
import { addressBytes, familyOf, isLinkLocal } from '../../wire/address.ts'
import type { VirtualRouter } from '../config.ts'
import { hostPrefixLength, OTHERS_INSTALL, sameNetwork } from '../network.ts'
import type { OwnInterface, OwnViews, PresentAddress } from '../node-view.ts'
import type { Path, Report } from '../problem.ts'
import { addressForms, allAddresses, ownAddressesOf } from '../schema/virtual-address.ts'

/** Receives a warning about an owner (priority 255) that would install an address which the node needs for itself. */
export type LeaveAlone = (path: Path, message: string) => void

/** Reports wrong addresses. Returns `false` if the node lacks an address of an owner (priority 255). */
export function checkOwnAddresses(
  router: VirtualRouter,
  views: OwnViews,
  chosen: OwnInterface | undefined,
  report: Report,
  leaveAlone: LeaveAlone,
): boolean {
  const owner = ownAddressesOf(router)
  if (owner === 'node') return ownerHasAll(router, views, chosen, report)
  const forms = addressForms(router)
  for (const [index, { entry, path }] of allAddresses(router).entries()) {
    const { address } = entry
    const here = forms[index]?.interfaceName ?? chosen?.name
    for (const { on, present } of views[familyOf(address)].places.get(address) ?? []) {
      // A link-local address counts for one interface only: the same text on another interface is another address.
      if (isLinkLocal(address) && on.name !== here) continue
      if (on.name !== here && OTHERS_INSTALL.has(on.name)) {
        report(
          'warning',
          path,
          `${address}/${present.prefixLength} is on "${on.name}" as well and stays there, because LVS and kube-proxy (IPVS) need it: ` +
            'unless arp_ignore is 1, this node answers ARP for it even as Backup',
        )
        continue
      }
      const origin = originOf(present, on, hostPrefixLength(familyOf(address)), forms[index]?.prefixLength)
      if (origin === 'leftover') continue
      if (origin === 'own' && owner === 'installed') {
        // A VIP with the prefix length of its network looks like an own address if no other address is there. A
        // deprecated address is a VIP.
        if (present.deprecated === true) continue
        leaveAlone(
          path,
          `Found ${address}/${present.prefixLength} on "${on.name}": it is the node's own address. So "${router.name}" (priority 255) ` +
            'neither installs nor removes any of its addresses. Write "ownAddresses: node" to confirm this.',
        )
        continue
      }
      report(
        origin === 'another daemon' ? 'warning' : 'error',
        path,
        origin === 'another daemon'
          ? `Found ${address}/${present.prefixLength} on "${on.name}": it will be removed, because it is a virtual address`
          : `addresses of "${router.name}": cannot use ${address}, which is the own address of "${on.name}", expected another ` +
              'address, or priority 255 of an address owner',
      )
    }
  }
  return true
}

function ownerHasAll(
  router: VirtualRouter,
  views: OwnViews,
  chosen: OwnInterface | undefined,
  report: Report,
): boolean {
  if (chosen === undefined) return true
  const missing = allAddresses(router).flatMap(({ entry: { address, interface: on = chosen.name }, path }) => {
    const place = views[familyOf(address)].places.get(address)?.find((found) => found.on.name === on)
    return place === undefined ? [{ address, on, path }] : []
  })
  for (const { address, on, path } of missing)
    report(
      'warning',
      path,
      `"${on}" has no address ${address}: "${router.name}" (priority 255) is in fault until the node has this address`,
    )
  return missing.length === 0
}

/**
 * Returns which program probably added an address. A host address (/32, /128) beside an own address is left over from
 * an earlier run. A host address alone is the node's own, such as an address from DHCPv6. Link-local addresses do not
 * count here, because every interface has one. A VIP has preferred lifetime 0.
 */
function originOf(
  present: PresentAddress,
  { listedOwn, own }: OwnInterface,
  hostPrefix: number,
  installed: number | undefined,
): 'leftover' | 'another daemon' | 'own' {
  if (present.deprecated === false && hostPrefix === 128) return 'own'
  const company = own.filter(({ address }) => isLinkLocal(present.address) || !isLinkLocal(address))
  if (present.prefixLength === hostPrefix && (company.length > 0 || present.deprecated === true)) return 'leftover'
  // The configuration lists the node's own address as well. An own address in the configuration is reported as the
  // error.
  if (
    present.prefixLength === hostPrefix &&
    company.length === 0 &&
    !isLinkLocal(present.address) &&
    listedOwn.length > 0
  )
    return 'leftover'
  // The configuration that is checked would install the address with the same prefix length, and the interface has
  // another address. In this case the node does not need the address, and another daemon has installed it.
  if (present.prefixLength === installed && company.length > 0) return 'another daemon'
  const octets = addressBytes(present.address)
  // An address in the form of a VIP may belong to a router that was removed from the configuration. For this reason
  // such an address does not tell the network of the node.
  const further = company.some(
    (other) =>
      (other.prefixLength !== hostPrefix || present.deprecated === true) &&
      sameNetwork(other.octets, octets, present.prefixLength),
  )
  return further ? 'another daemon' : 'own'
}
