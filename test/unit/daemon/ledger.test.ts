/** The journal of installed addresses: replaced as a whole, read without trust. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { AddressLedger, memoryOnDisk, readLedger, writeLedger } from '../../../src/daemon/addresses/ledger.ts'
import { address } from '../../../src/wire/address.ts'

let directory = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hf-journal-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const ENTRY = { address: address('192.0.2.100'), prefixLength: 32, interfaceName: 'eth0' }
const SIX = { address: address('2001:db8::100'), prefixLength: 128, interfaceName: 'eth0' }
const file = () => join(directory, 'addresses.json')

test('what is written is read again', () => {
  expect(writeLedger(directory, [ENTRY, SIX])).toBeUndefined()
  expect(readLedger(directory)).toEqual({ entries: [ENTRY, SIX], problem: undefined })
  expect([statSync(file()).mode & 0o777, readdirSync(directory)]).toEqual([0o600, ['addresses.json']])
})

test('the directory is made; none is no problem when reading', () => {
  const deep = join(directory, 'a', 'b')
  expect(readLedger(deep)).toEqual({ entries: [], problem: undefined })
  expect(writeLedger(deep, [ENTRY])).toBeUndefined()
  expect(existsSync(join(deep, 'addresses.json'))).toBe(true)
})

test.each([
  ['no JSON', '{'],
  ['no list', '{"address":"192.0.2.1"}'],
  ['an empty file', ''],
])('%s is a problem in words, and no entry', (_, text) => {
  writeFileSync(file(), text)
  const { entries, problem } = readLedger(directory)
  expect([entries, problem]).toEqual([[], expect.stringContaining(file())])
})

test('entries that are none are dropped, the others count', () => {
  const wrong = [
    null,
    7,
    'x',
    {},
    { ...ENTRY, address: 'host' },
    { ...ENTRY, prefixLength: '32' },
    { address: '192.0.2.1' },
  ]
  writeFileSync(file(), JSON.stringify([...wrong, ENTRY]))
  expect(readLedger(directory)).toEqual({ entries: [ENTRY], problem: undefined })
})

test('a place that cannot be written to is a sentence, not an exception', () => {
  writeFileSync(join(directory, 'file'), '')
  const below = join(directory, 'file', 'below')
  expect(writeLedger(below, [ENTRY])).toMatch(/^Cannot write .*below/)
  expect(readLedger(below).problem).toMatch(/^Cannot read/)
})

test('a life of its own: grows, never shrinks, is written only when it grew', () => {
  const ledger = new AddressLedger(memoryOnDisk(directory))
  expect(ledger.add([])).toBeUndefined()
  expect(existsSync(file())).toBe(false)
  ledger.add([ENTRY])
  ledger.add([SIX])
  expect(readLedger(directory).entries).toEqual([ENTRY, SIX])
  writeFileSync(file(), '[]')
  ledger.add([ENTRY])
  expect(readFileSync(file(), 'utf8')).toBe('[]')
})
