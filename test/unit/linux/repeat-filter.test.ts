import { describe, expect, test } from 'vitest'
import { RepeatFilter } from '../../../src/linux/netlink/repeat-filter.ts'
import { address } from '../../../src/wire/address.ts'

const present = (text: string, flags = 0x200) => ({
  ...{ interfaceIndex: 7, address: address(text), prefixLength: text.includes(':') ? 128 : 32 },
  ...{ tentative: false, flags },
})
/** Octets of a program without an address: it lets everything through. */
const EMPTY = 8

/** Returns a filter and the sizes of the programs that it has attached. */
function filter(attach: (program: Uint8Array) => void = () => {}) {
  const sizes: number[] = []
  const repeats = new RepeatFilter((program) => {
    sizes.push(program.length)
    attach(program)
  })
  const hear = (...reports: readonly ReturnType<typeof present>[]) => {
    for (const report of reports) repeats.note('address', report)
    repeats.settle()
  }
  return { repeats, hear, sizes }
}

describe('the filter of repeated reports', () => {
  test('the first report of an address changes nothing, the second one sets a filter, and a third one is none', () => {
    const { hear, sizes } = filter()
    hear(present('192.0.2.1'))
    expect(sizes).toEqual([])
    hear(present('192.0.2.1'))
    hear(present('192.0.2.1'))
    expect(sizes).toHaveLength(1)
    expect(sizes[0]).toBeGreaterThan(EMPTY)
  })

  test('a report with other flags, a removal and a step of the engine let all reports through again', () => {
    const { hear, repeats, sizes } = filter()
    const twice = () => hear(present('192.0.2.1'), present('192.0.2.1'))
    twice()
    hear(present('192.0.2.1', 0x280))
    expect(sizes.at(-1)).toBe(EMPTY)
    twice()
    expect(sizes.at(-1)).toBeGreaterThan(EMPTY)
    repeats.note('addressGone', present('192.0.2.1'))
    repeats.settle()
    expect(sizes.at(-1)).toBe(EMPTY)
    twice()
    repeats.expect([{ action: 'add', ...present('192.0.2.2') }])
    expect(sizes.at(-1)).toBeGreaterThan(EMPTY)
    repeats.expect([{ action: 'add', ...present('192.0.2.1') }])
    expect(sizes.at(-1)).toBe(EMPTY)
  })

  test('lost reports let all reports through again', () => {
    const { hear, repeats, sizes } = filter()
    hear(present('192.0.2.1'), present('192.0.2.1'))
    repeats.forget()
    expect(sizes.at(-1)).toBe(EMPTY)
    hear(present('192.0.2.1'))
    expect(sizes).toHaveLength(2)
  })

  test.each(['198.51.100.', '2001:db8::'])(
    '255 addresses %s fit into one program, of two instructions each',
    (start) => {
      const { hear, sizes } = filter()
      const all = Array.from({ length: 255 }, (_, i) => present(`${start}${start.endsWith(':') ? i.toString(16) : i}`))
      hear(...all, ...all)
      hear(present(`${start}1`, 0x280))
      expect((sizes[0] ?? 0) - (sizes[1] ?? 0)).toBe(2 * 8)
    },
  )

  test('a socket without memory for the program lets everything through', () => {
    const { hear, sizes } = filter((program) => {
      if (program.length > EMPTY) throw Object.assign(new Error('setsockopt'), { code: 'ENOMEM' })
    })
    hear(present('192.0.2.1'), present('192.0.2.1'))
    expect(sizes.at(-1)).toBe(EMPTY)
  })
})
