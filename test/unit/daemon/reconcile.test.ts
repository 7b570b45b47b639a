import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { reconcile } from '../../../src/daemon/addresses/reconcile.ts'
import type { AddressStep, PresentAddress, WantedAddress } from '../../../src/daemon/ports.ts'
import { type Address, address } from '../../../src/wire/address.ts'
import { forAll } from '../../support/for-all.ts'

const at = (text: string, interfaceIndex: number, prefixLength: number) => ({
  address: address(text),
  interfaceIndex,
  prefixLength,
})
const there = (text: string, interfaceIndex: number, prefixLength: number): PresentAddress => ({
  ...at(text, interfaceIndex, prefixLength),
  tentative: false,
})
const VIP = '10.0.0.200'
const VIP2 = '10.0.0.201'
const managed = new Set([address(VIP), address(VIP2)])
const NODE = there('10.0.0.11', 2, 24)

const add = (...where: Parameters<typeof at>): AddressStep => ({ action: 'add', ...at(...where) })
const remove = (...where: Parameters<typeof at>): AddressStep => ({ action: 'remove', ...at(...where) })
type Case = readonly [string, readonly WantedAddress[], readonly PresentAddress[], readonly AddressStep[]]

/** Name, wanted addresses, present addresses, steps. */
const CASES: readonly Case[] = [
  ['nothing wanted, nothing there', [], [NODE], []],
  [
    'becoming Active adds in the order wanted',
    [at(VIP2, 2, 32), at(VIP, 2, 32)],
    [NODE],
    [add(VIP2, 2, 32), add(VIP, 2, 32)],
  ],
  ['stepping down removes', [], [NODE, there(VIP, 2, 32)], [remove(VIP, 2, 32)]],
  ['wanted and there', [at(VIP, 2, 32)], [NODE, there(VIP, 2, 32)], []],
  [
    'on another interface it goes there first',
    [at(VIP, 2, 32)],
    [there(VIP, 3, 32)],
    [remove(VIP, 3, 32), add(VIP, 2, 32)],
  ],
  ['with another prefix it goes first', [at(VIP, 2, 32)], [there(VIP, 2, 24)], [remove(VIP, 2, 24), add(VIP, 2, 32)]],
  [
    'a second copy with another prefix goes, the right one stays',
    [at(VIP, 2, 32)],
    [there(VIP, 2, 32), there(VIP, 2, 24)],
    [remove(VIP, 2, 24)],
  ],
  [
    'every removal comes before every addition',
    [at(VIP2, 2, 32)],
    [there(VIP, 2, 32), there(VIP2, 4, 32)],
    [remove(VIP, 2, 32), remove(VIP2, 4, 32), add(VIP2, 2, 32)],
  ],
]

describe('reconcile', () => {
  test.each(CASES)('%s', (_, wanted, present, steps) => {
    expect(reconcile({ wanted, managed, present })).toEqual(steps)
  })
})

describe('properties', () => {
  const POOL = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '2001:db8::1', '2001:db8::2'].map(address)
  const item = fc.record({
    address: fc.constantFrom(...POOL),
    interfaceIndex: fc.integer({ min: 1, max: 3 }),
    prefixLength: fc.constantFrom(24, 32, 128),
  })
  const situation = fc
    .record({ wanted: fc.array(item), present: fc.array(item), managed: fc.uniqueArray(fc.constantFrom(...POOL)) })
    .map(({ wanted, present, managed: list }) => {
      const set: ReadonlySet<Address> = new Set(list)
      return {
        managed: set,
        wanted: wanted.filter((one) => set.has(one.address)),
        present: present.map((one) => ({ ...one, tentative: false })),
      }
    })
  const key = (one: WantedAddress) => `${one.address}/${one.prefixLength}@${one.interfaceIndex}`

  /** Applies the steps, as the kernel does. */
  function carryOut(present: readonly PresentAddress[], steps: readonly AddressStep[]): PresentAddress[] {
    const result = new Map(present.map((one) => [key(one), one]))
    for (const { action, ...one } of steps) {
      if (action === 'add') result.set(key(one), { ...one, tentative: false })
      else result.delete(key(one))
    }
    return [...result.values()]
  }

  test('after the steps nothing is left to do, and exactly the wanted addresses are installed', () => {
    forAll(100, [situation], (before) => {
      const present = carryOut(before.present, reconcile(before))
      expect(reconcile({ ...before, present })).toEqual([])
      const ours = present.filter((one) => before.managed.has(one.address)).map(key)
      expect(ours.sort()).toEqual([...new Set(before.wanted.map(key))].sort())
    })
  })

  test('an address that is not managed is never touched', () => {
    forAll(100, [situation], (before) => {
      expect(reconcile(before).filter((step) => !before.managed.has(step.address))).toEqual([])
    })
  })
})
