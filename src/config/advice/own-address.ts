/**
 * VIPs against the addresses that the node has now: an owner (255) of the node's own must have them, nobody else may, and
 * one that installs them leaves alone what is the node's. Decided here: what is an own address and what an earlier life
 * or another daemon left, which the sweep removes. This file does not remove anything, nor know who put an address there.
 */
import { addressBytes, familyOf, isLinkLocal } from '../../wire/address.ts'
import type { VirtualRouter } from '../config.ts'
import { hostPrefixLength, OTHERS_INSTALL, sameNetwork } from '../network.ts'
import type { OwnInterface, OwnViews, Standing } from '../node-view.ts'
import type { Path, Report } from '../problem.ts'
import { addressForms, allAddresses, ownAddressesOf } from '../schema/virtual-address.ts'

/** An owner would install what the node itself lives on. */
export type LeaveAlone = (path: Path, message: string) => void

/** False: an address of the owner is missing. */
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
      // Of another interface: another address, although it reads the same.
      if (isLinkLocal(address) && on.name !== here) continue
      if (on.name !== here && OTHERS_INSTALL.has(on.name)) {
        report(
          'warning',
          path,
          `${address}/${present.prefixLength} is on "${on.name}" too and stays there, as LVS and kube-proxy (IPVS) need it: ` +
            'this node answers ARP for it also as Backup, unless arp_ignore is 1',
        )
        continue
      }
      const verdict = judge(present, on, hostPrefixLength(familyOf(address)), forms[index]?.prefixLength)
      if (verdict === 'leftover') continue
      if (verdict === 'own' && owner === 'installed') {
        // With a prefix as written it looks like an own one where it has no company; a VIP is made deprecated all the same.
        if (present.deprecated === true) continue
        leaveAlone(
          path,
          `Found ${address}/${present.prefixLength} on "${on.name}": it is the node's own, so "${router.name}" (priority 255) ` +
            'takes all its addresses for the node\'s and neither installs nor removes any; "ownAddresses: node" says so',
        )
        continue
      }
      report(
        verdict === 'another daemon' ? 'warning' : 'error',
        path,
        verdict === 'another daemon'
          ? `Found ${address}/${present.prefixLength} on "${on.name}": it will be removed, because it is a virtual address`
          : `Cannot use ${address} as a virtual address: it is the own address of "${on.name}" ` +
              '(the owner of an address has priority 255)',
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
    report('warning', path, `Cannot own ${address}: "${on}" does not have it, "${router.name}" is in fault until then`)
  return missing.length === 0
}

/**
 * A host address beside an own one is a leftover; alone it is what the node lives on, as DHCPv6 gives it. Every
 * interface has a link-local address, so that does not count as company; preferred lifetime 0 is how VIPs are made.
 */
function judge(
  present: Standing,
  { listedOwn, own }: OwnInterface,
  hostPrefix: number,
  installed: number | undefined,
): 'leftover' | 'another daemon' | 'own' {
  if (present.deprecated === false && hostPrefix === 128) return 'own'
  const company = own.filter(({ address }) => isLinkLocal(present.address) || !isLinkLocal(address))
  if (present.prefixLength === hostPrefix && (company.length > 0 || present.deprecated === true)) return 'leftover'
  // Beside the node's own address that the file lists as well: that one is the error.
  if (
    present.prefixLength === hostPrefix &&
    company.length === 0 &&
    !isLinkLocal(present.address) &&
    listedOwn.length > 0
  )
    return 'leftover'
  // As this very file installs it: beside any other address the node does not live on it.
  if (present.prefixLength === installed && company.length > 0) return 'another daemon'
  const octets = addressBytes(present.address)
  // What has the form of a VIP may be one that is configured no longer: it does not put the node into a network.
  const further = company.some(
    (other) =>
      (other.prefixLength !== hostPrefix || present.deprecated === true) &&
      sameNetwork(other.octets, octets, present.prefixLength),
  )
  return further ? 'another daemon' : 'own'
}
