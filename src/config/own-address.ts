/**
 * VIPs against the addresses that the node has now: an owner (255) must have its own, nobody else may. Decided here:
 * what is an own address and what an earlier life or another daemon left, which the sweep removes. This file does not
 * remove anything, nor know who put an address there.
 */
import { type Address, addressBytes, isLinkLocal } from '../wire/address.ts'
import type { Report } from './choice.ts'
import type { VirtualRouter } from './config.ts'
import { familyOfAll, hostPrefixLength, sameNetwork } from './network.ts'
import type { OwnInterface, OwnView, Standing } from './node-view.ts'

/** False: an address of the owner is missing. */
export function checkOwnAddresses(
  router: VirtualRouter,
  { places }: OwnView,
  chosen: OwnInterface | undefined,
  report: Report,
): boolean {
  if (router.priority === 255) return ownerHasAll(router, chosen, report)
  const hostPrefix = hostPrefixLength(familyOfAll(router.addresses))
  for (const [index, { address }] of router.addresses.entries()) {
    for (const { on, present } of places.get(address) ?? []) {
      // Of another interface: another address, although it reads the same.
      if (isLinkLocal(address) && on !== chosen) continue
      const verdict = judge(present, on, hostPrefix)
      if (verdict === 'leftover') continue
      report(
        verdict === 'another daemon' ? 'warning' : 'error',
        ['addresses', index],
        verdict === 'another daemon'
          ? `Found ${address}/${present.prefixLength} on "${on.name}": it will be removed, because it is a virtual address`
          : `Cannot use ${address} as a virtual address: it is the own address of "${on.name}" ` +
              '(the owner of an address has priority 255)',
      )
    }
  }
  return true
}

function ownerHasAll(router: VirtualRouter, chosen: OwnInterface | undefined, report: Report): boolean {
  if (chosen === undefined) return true
  const present = new Set<Address>(chosen.all.map(({ address }) => address))
  const missing = router.addresses.flatMap(({ address }, index) => (present.has(address) ? [] : [{ address, index }]))
  for (const { address, index } of missing)
    report(
      'warning',
      ['addresses', index],
      `Cannot own ${address}: "${chosen.name}" does not have it, "${router.name}" is in fault until then`,
    )
  return missing.length === 0
}

/**
 * A host address beside an own one is a leftover; alone it is what the node lives on, as DHCPv6 gives it. Every
 * interface has a link-local address, so that does not count as company; preferred lifetime 0 is how VIPs are made.
 */
function judge(present: Standing, { own }: OwnInterface, hostPrefix: number): 'leftover' | 'another daemon' | 'own' {
  if (present.deprecated === false && hostPrefix === 128) return 'own'
  const company = own.filter(({ address }) => isLinkLocal(present.address) || !isLinkLocal(address))
  if (present.prefixLength === hostPrefix && (company.length > 0 || present.deprecated === true)) return 'leftover'
  const octets = addressBytes(present.address)
  // What has the form of a VIP may be one that is configured no longer: it does not put the node into a network.
  const further = company.some(
    (other) =>
      (other.prefixLength !== hostPrefix || present.deprecated === true) &&
      sameNetwork(other.octets, octets, present.prefixLength),
  )
  return further ? 'another daemon' : 'own'
}
