/**
 * Builds the parameters of one virtual router with the values that most tests need. A test sets only the values that
 * matter to it.
 */
import { vrrpGroup } from '../../src/vrrp/packet.ts'
import type { Parameters } from '../../src/vrrp/parameters.ts'
import { type Knobs, optionsOf, type ProfileName, profileKnobs } from '../../src/vrrp/profile.ts'
import { address, type Family } from '../../src/wire/address.ts'
import { centis, millis } from '../../src/wire/units.ts'

type Wanted = Partial<Parameters> & {
  readonly profile?: ProfileName
  readonly knobs?: Partial<Knobs>
}

const ADDRESSES: Record<Family, { readonly own: string; readonly virtual: readonly string[] }> = {
  ipv4: { own: '192.0.2.2', virtual: ['192.0.2.100'] },
  ipv6: { own: 'fe80::2', virtual: ['fe80::100', '2001:db8::100'] },
}

export function parametersFor(wanted: Wanted = {}): Parameters {
  const { family = 'ipv4', knobs, profile = 'holdfast', version = 3, ...rest } = wanted
  return {
    vrid: 51,
    family,
    version,
    priority: 100,
    advertisementInterval: centis(100),
    addresses: ADDRESSES[family].virtual.map(address),
    preempt: true,
    preemptDelay: millis(0),
    minHold: millis(10_000),
    primaryAddress: address(ADDRESSES[family].own),
    transport: { mode: 'multicast', group: vrrpGroup(family) },
    peers: [],
    ...optionsOf({ ...profileKnobs(profile, version), ...knobs }, version),
    ...rest,
  }
}
