/** Every judgement about a LAN appears when its cause is there, and not otherwise (docs/doctor.md). */
import { describe, expect, test } from 'vitest'
import { PeerMessages } from '../../../src/cli/doctor/doctor-messages.ts'
import { diagnose } from '../../../src/doctor/diagnosis.ts'
import { networkdState, networkManagerState } from '../../../src/doctor/manager-state.ts'
import { routeTable } from '../../../src/doctor/route-table.ts'
import { address } from '../../../src/wire/address.ts'
import {
  complaints,
  HEARD,
  LAN,
  LISTENING,
  MEASURED,
  mac,
  measuredWith,
  OTHER,
  type OWN_MAC,
  PEER,
  PEER_MAC,
  ROUTER,
  SELF,
  told,
  UNKNOWN_MAC,
  VIP,
} from './doctor-fixture.ts'

const V6 = address('fd00::100')
const LINK_LOCAL = address('fe80::1')
const own6 = { address: LINK_LOCAL, prefixLength: 64, dadFailed: false, deprecated: false }
const router6 = {
  family: 'ipv6',
  addresses: [V6],
  held: [{ address: V6, interface: undefined }],
  peers: [],
  source: LINK_LOCAL,
} as const
const heardNobody = { heard: [] }
const allTold = (measured: Parameters<typeof diagnose>[0]) => diagnose(measured).map(told).join('\n')

describe('the interface', () => {
  test.each([
    ['turned off', { up: false }, /^error interface \(eth0\): is turned off/],
    ['no carrier', { carrier: false }, /^error interface \(eth0\): has no carrier/],
    ['a port of a bridge', { portOf: 'bridge' }, /^error interface \(eth0\): is a port of a bridge/],
    ['a small MTU', { mtu: 1200 }, /^warning mtu \(eth0\): the MTU is 1200: below 1280/],
    [
      'a route away, strict',
      { settings: { ...LAN.settings, rpFilter: 1 }, routes: [{ address: PEER, interface: 'eth1', refused: true }] },
      /^error reverse-path \(eth0\): .*192\.0\.2\.2 \(by eth1\)/,
    ],
    [
      'no route, strict',
      {
        settings: { ...LAN.settings, rpFilter: 1 },
        routes: [{ address: PEER, interface: undefined, refused: undefined }],
      },
      /^error reverse-path \(eth0\): .*\(no route\)/,
    ],
    [
      'a rule of policy routing, strict',
      { settings: { ...LAN.settings, rpFilter: 1 }, routes: [{ address: PEER, interface: 'eth0', refused: true }] },
      /^error reverse-path \(eth0\): .*192\.0\.2\.2 \(policy routing: ip rule.*correct the route or the rule/,
    ],
    [
      'arp_ignore 8',
      { settings: { ...LAN.settings, arpIgnore: 8 } },
      /^error arp-settings \(eth0\): .*answers for no address/,
    ],
    ['arp_ignore 2', { settings: { ...LAN.settings, arpIgnore: 2 } }, /^note arp-settings/],
    ['arp_filter', { settings: { ...LAN.settings, arpFilter: 1 } }, /^note arp-settings/],
    [
      'NetworkManager',
      { manager: { networkManager: 'managed', networkd: undefined } },
      /^note network-manager \(eth0\): NetworkManager manages it.*nmcli device set eth0 managed no/,
    ],
    [
      'networkd',
      { manager: { networkManager: undefined, networkd: 'managed' } },
      /^note network-manager \(eth0\): systemd-networkd .*KeepConfiguration=yes/,
    ],
  ] as const)('%s', (_, lan, wanted) => {
    expect(complaints(measuredWith({ lan }))).toEqual([expect.stringMatching(wanted)])
  })

  test.each([
    [
      'loose, and a route away',
      { settings: { ...LAN.settings, rpFilter: 2 }, routes: [{ address: PEER, interface: 'eth1', refused: true }] },
    ],
    [
      'strict, and a route away that a rule brings back',
      { settings: { ...LAN.settings, rpFilter: 1 }, routes: [{ address: PEER, interface: 'eth1', refused: false }] },
    ],
    ['strict, and no route away', { settings: { ...LAN.settings, rpFilter: 1 } }],
    [
      'not to be read',
      { settings: { rpFilter: undefined, arpIgnore: undefined, arpFilter: undefined, disableIpv6: undefined } },
    ],
    ['arp_ignore 1', { settings: { ...LAN.settings, arpIgnore: 1 } }],
    ['managers that leave it alone', { manager: { networkManager: 'unmanaged', networkd: 'unknown' } }],
  ] as const)('quiet: %s', (_, lan) => expect(complaints(measuredWith({ lan }))).toEqual([]))

  test('an advertisement that exceeds the MTU is an error', () => {
    expect(complaints(measuredWith({ router: { datagramOctets: 1501 } }))).toEqual([
      expect.stringMatching(/^error mtu \(eth0\): the MTU is 1500, but an advertisement of "api" has 1501 octets/),
    ])
    expect(complaints(measuredWith({ router: { datagramOctets: 1500 } }))).toEqual([])
  })

  test('a missing interface is one finding', () => {
    expect(complaints({ ...MEASURED, lans: [] })).toEqual([
      expect.stringMatching(/^error interface \(api\): .*"eth0" does not exist/),
    ])
    expect(complaints(measuredWith({ router: { interface: undefined } }), 'interface')).toEqual([
      expect.stringMatching(/^error interface \(api\): no interface fits/),
    ])
  })

  test('a followed address that is missing is an error, and the advice names its last interface', () => {
    const cannotFollow = '/run/ip: it does not exist'
    expect(complaints(measuredWith({ router: { interface: undefined, cannotFollow } }), 'interface')).toEqual([
      expect.stringMatching(/^error interface \(api\): \/run\/ip: it does not exist/),
    ])
    expect(complaints(measuredWith({ router: { cannotFollow } }), 'interface')).toEqual([
      expect.stringMatching(/^warning interface \(api\): \/run\/ip: it does not exist.*checked the router on "eth0"/),
    ])
  })

  test('disabled IPv6, a missing link-local address and an MTU too small for IPv6 are errors', () => {
    const six = (lan: object) =>
      complaints(measuredWith({ router: router6, lan: { claims: [], asked: [], own: [own6], ...lan } }), 'ipv6')
    expect(six({})).toEqual([])
    expect(six({ settings: { ...LAN.settings, disableIpv6: 1 } })).toEqual([
      expect.stringMatching(/^error ipv6 .*IPv6 is off/),
    ])
    expect(six({ own: [] })).toEqual([expect.stringMatching(/^error ipv6 .*no link-local/)])
    expect(six({ own: [{ ...own6, dadFailed: true }] })).toEqual([expect.stringMatching(/^error ipv6 .*no link-local/)])
    const small = measuredWith({ router: router6, lan: { own: [own6], mtu: 1000, claims: [], asked: [] } })
    expect(complaints(small, 'mtu')).toEqual([expect.stringMatching(/^error mtu/)])
  })

  test('the interface comes from the main routing table by longest prefix, then by metric', () => {
    const route = routeTable(
      [
        'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
        'eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0',
        'eth1\t000200C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0',
        'eth2\t000200C0\t00000000\t0001\t0\t0\t50\t00FFFFFF\t0\t0\t0',
        'eth3\t070200C0\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0',
        '*\t080200C0\t00000000\t0205\t0\t0\t0\tFFFFFFFF\t0\t0\t0',
      ].join('\n'),
    )
    expect(['192.0.2.7', '192.0.2.9', '203.0.113.1', 'fd00::1'].map((to) => route(address(to)))).toEqual([
      'eth3',
      'eth2',
      'eth0',
      undefined,
    ])
    expect(routeTable('')(PEER)).toBeUndefined()
  })
})

test('state files of network managers are read', () => {
  expect(networkManagerState('[device]\nmanaged=true\nnm-owned=false\n')).toBe('managed')
  expect(networkManagerState('[device]\nmanaged=false\n')).toBe('unmanaged')
  expect(networkManagerState('[device]\nperm-hw-addr-fake=1\n')).toBe('unknown')
  const link = (state: string) =>
    networkdState(`# This is private data. Do not parse.\nADMIN_STATE=${state}\nOPER_STATE=up\n`)
  expect(['configuring', 'configured', 'failed'].map(link)).toEqual(['managed', 'managed', 'managed'])
  expect(['pending', 'unmanaged'].map(link)).toEqual(['unmanaged', 'unmanaged'])
  expect([networkdState(undefined), networkManagerState(undefined), networkdState('')]).toEqual([
    'unknown',
    'unknown',
    'unknown',
  ])
})

describe('packet filters of this node', () => {
  const filter = (listening: object, lan: object = {}) => complaints(measuredWith({ listening, lan }), 'packet-filter')

  test('a refused transmission is an error', () => {
    expect(filter({ refused: 'Cannot send to 224.0.0.18: refused by a packet filter' })).toEqual([
      expect.stringMatching(
        /^error packet-filter \(eth0, IPv4\): the packet filter of this node blocks outgoing VRRP .*output rules/,
      ),
    ])
  })

  test('a packet that reaches the interface but no socket is an error', () => {
    const heard = [{ ...HEARD, delivered: 0 }]
    expect(filter({ heard })).toEqual([
      expect.stringMatching(/^error .*5 advertisements of 192\.0\.2\.2 arrived.*: a packet filter/),
    ])
    // One packet without a delivery is no error: the measurement may have ended before the packet reached the socket.
    expect(filter({ heard: [{ ...HEARD, delivered: 0, packets: 1 }] })).toEqual([])
    const strict = {
      settings: { ...LAN.settings, rpFilter: 1 },
      routes: [{ address: PEER, interface: 'eth1', refused: true }],
    }
    expect(filter({ heard }, strict)).toEqual([expect.stringMatching(/rp_filter is 1 \(strict\).*rp_filter=2/)])
  })

  test('an own packet that does not return is an error', () => {
    expect(filter({ looped: false })).toEqual([expect.stringMatching(/^warning .*did not arrive/)])
    expect(filter({ looped: undefined })).toEqual([])
    expect(filter({ looped: undefined, ...heardNobody })).toEqual([
      expect.stringMatching(/^note .*not tested while the daemon runs: .* lets VRRP packets in$/),
    ])
    expect(filter({ passedOutput: false })).toEqual([expect.stringMatching(/^note .*lets VRRP packets out$/)])
    expect(filter({ passedOutput: false, looped: undefined, ...heardNobody })).toEqual([
      expect.stringMatching(/in or out$/),
    ])
  })
})

describe('multicast', () => {
  const multicast = (listening: object, router: object = {}) =>
    complaints(measuredWith({ listening, router }), 'multicast')
  const messages = LISTENING.messages

  test('a received router or a doctor in both directions is ok', () => {
    expect(multicast({})).toEqual([])
    const both = { ...messages, heard: [{ from: PEER, packets: 5, hearsUs: true }] }
    expect(multicast({ ...heardNobody, messages: both })).toEqual([])
    expect(allTold(measuredWith({ listening: { messages: both } }))).toContain(
      'passes in both directions: doctor on 192.0.2.2',
    )
  })

  test('silence is a note that names a conclusive test', () => {
    expect(multicast(heardNobody)).toEqual([
      expect.stringMatching(
        /^note .*no node is Active, or packets do not pass -> Run holdfast doctor on 192\.0\.2\.2 at the same time/,
      ),
    ])
    expect(multicast({ ...heardNobody, left: 5 })).toEqual([
      expect.stringMatching(/this node is Active, so the others are silent/),
    ])
    expect(multicast(heardNobody, { multicast: false })).toEqual([])
  })

  test('one-way reception, lost messages and refused transmission are findings', () => {
    const one = { ...messages, heard: [{ from: PEER, packets: 3, hearsUs: false }] }
    expect(multicast({ messages: one })).toEqual([
      expect.stringMatching(/^warning .*this doctor hears the one on 192\.0\.2\.2, which does not hear this one/),
    ])
    expect(multicast({ messages: { ...one, heard: [{ from: PEER, packets: 2, hearsUs: false }] } })).toEqual([])
    expect(multicast({ messages: { ...messages, left: 0 } })).toEqual([
      expect.stringMatching(/^warning .*none of 10 packets to 224\.0\.0\.18/),
    ])
    expect(multicast({ messages: { ...messages, failure: 'refused' } })).toEqual([
      expect.stringMatching(/^note .*refused/),
    ])
  })

  test('a receiver that could not be opened is a finding', () => {
    const deaf = measuredWith({
      lan: { listening: { ...LAN.listening, ipv4: { unmeasured: 'CAP_NET_RAW is missing' } } },
    })
    expect(complaints(deaf, 'multicast')).toEqual([expect.stringMatching(/^warning .*not tried: CAP_NET_RAW/)])
    const bare = { ...deaf, routers: [] }
    expect(complaints(bare, 'multicast').every((line) => line.startsWith('note'))).toBe(true)
  })
})

describe('VRIDs', () => {
  const vrid = (heard: object, router: object = {}) => complaints(measuredWith({ heard, router }), 'vrid')

  test.each([
    [
      'other addresses: another group',
      { source: OTHER, addresses: [address('192.0.2.77')] },
      {},
      /^error .*"api" has the same VRID.*Choose an unused VRID/,
    ],
    ['some of the addresses', { addresses: [VIP, address('192.0.2.77')] }, {}, /^warning .*Write the same addresses/],
    ['another version', { version: 2 }, {}, /^error .*the two ignore each other/],
    ['another interval', { intervalMs: 3_000 }, {}, /^warning .*has 1000 ms here/],
    ['another interval, version 2', { version: 2, intervalMs: 3_000 }, { version: 2 }, /^error .*version 2 discards/],
    ['by unicast', { group: false }, {}, /^error .*by unicast: "api" uses multicast/],
    ['two owners', { priority: 255 }, { priority: 255 }, /^error .*also has priority 255/],
    ['not among the peers', { source: OTHER }, {}, /^warning .*is not a listed peer/],
    ['broken packets', { discard: 'checksum' }, {}, /^error .*every router discards it: checksum/],
    ['our address under another VRID', { vrid: 7 }, {}, /^error .*addresses belong to "api", which has another VRID/],
    ['broken packets of another', { vrid: 7, discard: 'ttl', addresses: [] }, {}, /^note .*every router discards/],
  ] as const)('%s', (_, heard, router, wanted) => {
    expect(vrid(heard, router)).toEqual([expect.stringMatching(wanted)])
  })

  test('routers of the group, and another VRID with other addresses, have no finding', () => {
    expect(vrid({})).toEqual([])
    expect(vrid({ vrid: 7, addresses: [address('192.0.2.77')] })).toEqual([])
    expect(vrid({ source: OTHER }, { peers: [] })).toEqual([])
    expect(allTold(MEASURED)).toContain('192.0.2.2 (02:00:00:00:00:02) advertises VRID 51')
  })

  test('without a configuration each router is a note', () => {
    expect(complaints({ ...MEASURED, routers: [] }, 'vrid')).toEqual([
      expect.stringMatching(/^note .*192\.0\.2\.2 \(.*\) advertises VRID 51/),
    ])
  })

  test('the absence of other routers is reported after a long enough measurement', () => {
    const quiet = measuredWith({ listening: heardNobody })
    expect(complaints(quiet, 'vrid')).toEqual([])
    expect(allTold(quiet)).toContain('VRID 51 ("api"): no other router heard')
    expect(complaints(measuredWith({ router: { intervalMs: 2_000 }, heard: { intervalMs: 2_000 } }), 'vrid')).toEqual([
      expect.stringMatching(/^note .*less than 3 intervals of "api" -> --duration 7s/),
    ])
  })
})

describe('addresses', () => {
  const claim = (who: typeof SELF, by: typeof OWN_MAC) => ({ address: who, mac: by })
  const addresses = (lan: object) => complaints(measuredWith({ lan }), 'virtual-address')
  const peerIsThere = claim(PEER, PEER_MAC)
  const here = [...LAN.own, { address: VIP, prefixLength: 32, dadFailed: false, deprecated: false }]

  test('an address that the Active answers for is ok, and the Active is named', () => {
    expect(addresses({})).toEqual([])
    expect(allTold(MEASURED)).toContain(
      '02:00:00:00:00:02 (192.0.2.2, Active of VRID 51 with priority 200) answers for 192.0.2.100',
    )
  })

  test('an unknown host that answers is an error', () => {
    expect(addresses({ claims: [claim(VIP, UNKNOWN_MAC)] })).toEqual([
      expect.stringMatching(/^error .*02:00:00:00:00:99 \(an unknown host\)/),
    ])
  })

  test('an answer of a peer whose advertisements are not received is an error', () => {
    const deaf = measuredWith({ listening: heardNobody })
    expect(complaints(deaf, 'virtual-address')).toEqual([
      expect.stringMatching(/^error .*the peer 192\.0\.2\.2\) .*its advertisements do not arrive.*multicast/),
    ])
    const soon = measuredWith({ listening: heardNobody, router: { intervalMs: 2_000 } })
    expect(complaints(soon, 'virtual-address')).toEqual([
      expect.stringMatching(
        /^note .*no router advertised 192\.0\.2\.100; that proves nothing yet, because the measurement lasted less than 3 advertisement intervals/,
      ),
    ])
    const unicast = measuredWith({ listening: heardNobody, router: { multicast: false } })
    expect(complaints(unicast, 'virtual-address')).toEqual([expect.stringMatching(/List this node among the peers/)])
  })

  test('an address on this node is ok alone and an error if another host answers as well', () => {
    const alone = measuredWith({ lan: { own: here, claims: [peerIsThere] } })
    expect(complaints(alone, 'virtual-address')).toEqual([])
    expect(allTold(alone)).toContain('192.0.2.100 is on this node, and no other host answers')
    expect(addresses({ own: here })).toEqual([
      expect.stringMatching(/^error .*is on this node, but .* also answers for it -> Two nodes hold/),
    ])
  })

  test('two answers, no answer of an advertising router, no answer and the virtual MAC are told apart', () => {
    expect(addresses({ claims: [claim(VIP, PEER_MAC), claim(VIP, UNKNOWN_MAC)] })).toEqual([
      expect.stringMatching(/^error .*: 2 hosts answer for/),
    ])
    expect(addresses({ claims: [] })).toEqual([
      expect.stringMatching(/^warning .*192\.0\.2\.2 advertises 192\.0\.2\.100, but no host answers/),
    ])
    expect(
      complaints(
        measuredWith({ lan: { claims: [], listening: { ...LAN.listening, ipv4: { ...LISTENING, ...heardNobody } } } }),
        'virtual-address',
      ),
    ).toEqual([])
    expect(addresses({ claims: [claim(VIP, mac('00:00:5e:00:01:33'))] })).toEqual([])
  })

  test('a peer that does not answer is a note', () => {
    expect(complaints(measuredWith({ lan: { claims: [claim(VIP, PEER_MAC)] } }), 'peers')).toEqual([
      expect.stringMatching(/^note peers \(api\): peers that do not answer: 192\.0\.2\.2/),
    ])
    expect(complaints(MEASURED, 'peers')).toEqual([])
  })

  test('a duplicate address of this node and one that DAD refused are errors', () => {
    const twice = measuredWith({ lan: { claims: [...LAN.claims, claim(SELF, UNKNOWN_MAC)] } })
    expect(complaints(twice, 'primary-address')).toEqual([
      expect.stringMatching(/^error .*192\.0\.2\.1 belongs to this node, but 02:00:00:00:00:99 also answers for it/),
    ])
    const failed = measuredWith({ lan: { own: [...LAN.own, { ...own6, dadFailed: true }] } })
    expect(complaints(failed, 'primary-address')).toEqual([
      expect.stringMatching(/^error .*duplicate address detection/),
    ])
    expect(complaints(MEASURED, 'primary-address')).toEqual([])
  })

  test('the addresses of an owner (255) are probed as the node’s own', () => {
    const owner = measuredWith({
      router: { owner: true, priority: 255 },
      lan: { own: here, claims: [claim(VIP, UNKNOWN_MAC), peerIsThere] },
      listening: heardNobody,
    })
    expect(complaints(owner, 'virtual-address')).toEqual([])
    expect(complaints(owner, 'primary-address')).toHaveLength(1)
    expect(ROUTER.owner).toBe(false)
  })
})

describe('what doctors say to each other', () => {
  test('a message names the senders that were received', () => {
    const [one, other] = [new PeerMessages('a'), new PeerMessages('b')]
    other.hear(one.message(), SELF)
    expect(other.heard).toEqual([{ from: SELF, packets: 1, hearsUs: false }])
    one.hear(other.message(), PEER)
    expect(one.heard).toEqual([{ from: PEER, packets: 1, hearsUs: true }])
  })

  test('own messages and invalid ones are ignored', () => {
    const ledger = new PeerMessages('a')
    const say = (text: string) => ledger.hear(new TextEncoder().encode(text), OTHER)
    for (const text of ['', '{', 'null', '[]', '{"kind":"holdfast-doctor"}', '{"kind":"holdfast-doctor","id":7}'])
      say(text)
    say(`{"kind":"holdfast-doctor","id":"${'x'.repeat(33)}"}`)
    ledger.hear(ledger.message(), SELF)
    expect(ledger.heard).toEqual([])
    for (let i = 0; i < 100; i++) say(`{"kind":"holdfast-doctor","id":"${i}","heard":"a"}`)
    expect(ledger.heard).toHaveLength(64)
    expect(ledger.heard.some(({ hearsUs }) => hearsUs)).toBe(false)
    expect(ledger.message().length).toBeLessThan(1_400)
  })
})
