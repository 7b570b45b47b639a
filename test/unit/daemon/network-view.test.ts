/** Links and addresses as the kernel last reported them. */
import { beforeEach, describe, expect, test } from 'vitest'
import { NetworkView } from '../../../src/daemon/addresses/network-view.ts'
import { OwnChanges } from '../../../src/daemon/addresses/own-changes.ts'
import { address } from '../../../src/wire/address.ts'
import { link, present, VIP } from './fake-world.ts'

let view: NetworkView
beforeEach(() => {
  view = new NetworkView()
  view.load({
    links: () => [link(2, 'eth0'), link(3, 'eth1')],
    addresses: () => [present(2, '192.0.2.10/24'), present(2, 'fe80::10/64'), present(3, `${VIP}/24`)],
  })
})

test('the view finds an address on any interface, with any prefix', () => {
  view.apply({ kind: 'addressAdded', present: present(2, `${VIP}/32`) })
  expect(view.where(address(VIP)).map(({ interfaceIndex, prefixLength }) => [interfaceIndex, prefixLength])).toEqual([
    [3, 24],
    [2, 32],
  ])
  view.apply({ kind: 'addressRemoved', present: present(3, `${VIP}/24`) })
  view.apply({ kind: 'addressRemoved', present: present(3, `${VIP}/24`) })
  expect(view.where(address(VIP))).toEqual([present(2, `${VIP}/32`)])
})

test('an address that is reported twice is listed once', () => {
  view.apply({ kind: 'addressAdded', present: present(3, `${VIP}/24`) })
  expect(view.where(address(VIP)).length).toBe(1)
})

test('the view lists addresses by interface and family', () => {
  expect(view.on(2, 'ipv4')).toEqual([present(2, '192.0.2.10/24')])
  expect(view.on(2, 'ipv6')).toEqual([present(2, 'fe80::10/64')])
  expect(view.on(9, 'ipv4')).toEqual([])
})

test('a removed link takes its addresses along, and no others', () => {
  view.apply({ kind: 'linkGone', index: 3, name: 'eth1' })
  expect([view.link(3), view.linkNamed('eth1'), view.where(address(VIP))]).toEqual([undefined, undefined, []])
  expect(view.on(2, 'ipv4').length).toBe(1)
})

test('a renamed link is found under its new name only', () => {
  view.apply({ kind: 'link', link: link(2, 'lan0') })
  expect([view.linkNamed('eth0'), view.linkNamed('lan0')?.index]).toEqual([undefined, 2])
})

test('of two links with one name the new one counts', () => {
  view.apply({ kind: 'link', link: link(9, 'eth0') })
  expect([view.linkNamed('eth0')?.index, view.links().map(({ index }) => index)]).toEqual([9, [3, 9]])
  view.apply({ kind: 'linkGone', index: 2, name: 'eth0' })
  expect(view.linkNamed('eth0')?.index).toBe(9)
})

test('two links can swap their names by a third one', () => {
  view.apply({ kind: 'link', link: link(2, 'eth1') })
  view.apply({ kind: 'link', link: link(3, 'eth0') })
  expect([view.linkNamed('eth1')?.index, view.linkNamed('eth0')?.index]).toEqual([2, 3])
})

test('an address can be a source when it is installed and not tentative', () => {
  const own = address('fe80::9')
  const tentative = { ...present(2, 'fe80::9/64'), tentative: true }
  expect(view.canSendFrom(2, own)).toBe(false)
  view.apply({ kind: 'addressAdded', present: tentative })
  expect(view.canSendFrom(2, own)).toBe(false)
  view.apply({ kind: 'addressAdded', present: { ...tentative, tentative: false } })
  expect([view.canSendFrom(2, own), view.canSendFrom(3, own), view.on(2, 'ipv6').length]).toEqual([true, false, 2])
})

test('loading again removes what is gone', () => {
  view.load({ links: () => [link(2, 'eth0')], addresses: () => [] })
  expect([view.links().length, view.where(address(VIP)), view.on(2, 'ipv4')]).toEqual([1, [], []])
})

describe('echoes of our own changes', () => {
  const place = present(2, `${VIP}/32`)
  const step = (action: 'add' | 'remove') => ({ action, ...place })

  test('each change of the kernel has one echo, in order', () => {
    const own = new OwnChanges()
    own.expect(step('add'))
    own.expect(step('remove'))
    expect(own.isEcho('addressRemoved', place), 'out of order').toBe(false)
    expect(own.isEcho('addressAdded', place)).toBe(true)
    expect(own.isEcho('addressRemoved', place)).toBe(true)
    expect(own.isEcho('addressRemoved', place), 'a second time').toBe(false)
  })

  test('an IPv6 address that is removed before its report leaves no expectation', () => {
    const vip6 = present(2, 'fd00::100/128')
    const own = new OwnChanges()
    own.expect({ action: 'add', ...vip6 })
    own.expect({ action: 'remove', ...vip6 })
    expect(own.isEcho('addressRemoved', vip6)).toBe(true)
    own.expect({ action: 'add', ...vip6 })
    expect(own.isEcho('addressRemoved', vip6), 'somebody else, before our addition was told').toBe(false)
    own.expect({ action: 'add', ...vip6 })
    expect([own.isEcho('addressAdded', vip6), own.isEcho('addressRemoved', vip6)]).toEqual([true, false])
  })

  test('another prefix or interface is a foreign change', () => {
    const own = new OwnChanges()
    own.expect(step('add'))
    expect(own.isEcho('addressAdded', present(2, `${VIP}/24`))).toBe(false)
    expect(own.isEcho('addressAdded', present(3, `${VIP}/32`))).toBe(false)
    own.clear()
    expect(own.isEcho('addressAdded', place)).toBe(false)
  })
})
