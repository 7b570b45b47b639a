/** Whether an Active gives up an address that another host has as well (`onDuplicate`). */
import { describe, expect, test } from 'vitest'
import { answerToDuplicate, type OnDuplicate } from '../../../../src/vrrp/extensions/duplicate.ts'
import type { Address } from '../../../../src/wire/address.ts'
import { ABOVE, BELOW, OTHER, parameters } from '../fsm-fixture.ts'

describe('the reaction to a host that has one of our addresses (onDuplicate)', () => {
  const us = parameters('holdfast')
  const by = (source: Address, priority: number) => ({ source, priority })

  test.each([
    ['yield', 'a higher priority', by(BELOW, 200), 'yield'],
    ['yield', 'an equal one with a higher address', by(ABOVE, 128), 'yield'],
    ['yield', 'an equal one with a lower address', by(BELOW, 128), 'announce'],
    ['yield', 'a lower priority', by(OTHER, 100), 'announce'],
    ['yield', 'a host that sends no advertisements', undefined, 'announce'],
    ['announce', 'a higher priority', by(ABOVE, 200), 'announce'],
    ['alarm', 'a lower priority', by(OTHER, 100), 'alarm'],
  ] satisfies [OnDuplicate, string, unknown, OnDuplicate][])('%s against %s', (wanted, _word, router, expected) => {
    expect(answerToDuplicate(wanted, us, router)).toBe(expected)
  })

  test('an owner does not give up its own addresses to a duplicate holder', () => {
    const owner = parameters('holdfast', { priority: 255 })
    expect(answerToDuplicate('yield', owner, by(ABOVE, 255))).toBe('announce')
  })
})
