/** The upstream DNS servers of a node: which lines of resolv.conf count, and which servers are this node itself. */
import { describe, expect, test } from 'vitest'
import { upstreamsIn } from '../../../../src/cluster/decisions/dns/upstreams.ts'
import { address } from '../../../../src/wire/address.ts'

const OWN = [address('10.0.0.5')]

/**
 * The first four cases of the table are those of the shared cases of runtimecfg (`dnsUpstreams`), with their own words.
 */
describe('upstreamsIn', () => {
  test.each([
    ['the own address is left out', 'search x\nnameserver 10.0.0.5\nnameserver 1.1.1.1\n', ['1.1.1.1']],
    ['127.0.0.1 and ::1 are left out', 'nameserver 127.0.0.1\nnameserver ::1\nnameserver 9.9.9.9\n', ['9.9.9.9']],
    ['comments and indents', '# nameserver 8.8.8.8\n   nameserver\t8.8.4.4 extra\noptions edns0\n', ['8.8.4.4']],
    ['the stub of systemd-resolved stays', 'nameserver 127.0.0.53\n', ['127.0.0.53']],
    ['a server that is listed twice counts once', 'nameserver 1.1.1.1\nnameserver 1.1.1.1\n', ['1.1.1.1']],
    ['IPv6 in its canonical form', 'nameserver FD00:0::1\n', ['fd00::1']],
    ['a link-local server keeps its interface', 'nameserver fe80::1%eth0\n', ['fe80::1%eth0']],
    ['an empty file', '', []],
  ])('%s', (_, text, servers) => {
    expect(upstreamsIn(text, OWN)).toEqual({ servers, notes: [] })
  })

  test('a line without an address is left out and named', () => {
    const { notes, servers } = upstreamsIn('nameserver dns.example\nnameserver 1.1.1.1\nnameserver fe80::1%\n', OWN)
    expect(servers).toEqual(['1.1.1.1'])
    expect(notes).toEqual([
      'nameserver "dns.example" is left out: expected an IP address',
      'nameserver "fe80::1%" is left out: expected an IP address',
    ])
  })

  test('the 16th server is left out, because CoreDNS refuses more than 15', () => {
    const all = Array.from({ length: 16 }, (_, i) => `10.1.0.${i + 1}`)
    const { notes, servers } = upstreamsIn(all.map((each) => `nameserver ${each}\n`).join(''), OWN)
    expect(servers).toEqual(all.slice(0, 15))
    expect(notes).toEqual(['nameserver 10.1.0.16 is left out: CoreDNS accepts at most 15'])
  })
})
