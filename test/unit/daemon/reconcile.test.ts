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

const CASES: {
  name: string
  wanted: readonly WantedAddress[]
  present: readonly PresentAddress[]
  steps: readonly AddressStep[]
}[] = [
  { name: 'nothing wanted, nothing there', wanted: [], present: [NODE], steps: [] },
  {
    name: 'becoming Active adds in the order wanted',
    wanted: [at(VIP2, 2, 32), at(VIP, 2, 32)],
    present: [NODE],
    steps: [
      { action: 'add', ...at(VIP2, 2, 32) },
      { action: 'add', ...at(VIP, 2, 32) },
    ],
  },
  {
    name: 'stepping down removes',
    wanted: [],
    present: [NODE, there(VIP, 2, 32)],
    steps: [{ action: 'remove', ...at(VIP, 2, 32) }],
  },
  { name: 'wanted and there', wanted: [at(VIP, 2, 32)], present: [NODE, there(VIP, 2, 32)], steps: [] },
  {
    name: 'on another interface it goes there first',
    wanted: [at(VIP, 2, 32)],
    present: [there(VIP, 3, 32)],
    steps: [
      { action: 'remove', ...at(VIP, 3, 32) },
      { action: 'add', ...at(VIP, 2, 32) },
    ],
  },
  {
    name: 'with another prefix it goes first',
    wanted: [at(VIP, 2, 32)],
    present: [there(VIP, 2, 24)],
    steps: [
      { action: 'remove', ...at(VIP, 2, 24) },
      { action: 'add', ...at(VIP, 2, 32) },
    ],
  },
  {
    name: 'a second copy with another prefix goes, the right one stays',
    wanted: [at(VIP, 2, 32)],
    present: [there(VIP, 2, 32), there(VIP, 2, 24)],
    steps: [{ action: 'remove', ...at(VIP, 2, 24) }],
  },
  {
    name: 'every removal comes before every addition',
    wanted: [at(VIP2, 2, 32)],
    present: [there(VIP, 2, 32), there(VIP2, 4, 32)],
    steps: [
      { action: 'remove', ...at(VIP, 2, 32) },
      { action: 'remove', ...at(VIP2, 4, 32) },
      { action: 'add', ...at(VIP2, 2, 32) },
    ],
  },
]

describe('reconcile', () => {
  test.each(CASES)('$name', ({ wanted, present, steps }) => {
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
