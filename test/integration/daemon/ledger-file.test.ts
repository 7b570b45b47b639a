/** The ledger file on a real disk. The file is replaced as a whole and checked when it is read, and the engine never waits for it. */
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { AddressLedger } from '../../../src/daemon/addresses/ledger.ts'
import { LedgerFile, readLedger } from '../../../src/daemon/addresses/ledger-file.ts'
import { eventually, monotonicMs, sleep } from '../../../src/lab/wait.ts'
import { address } from '../../../src/wire/address.ts'

let directory = ''
let problems: string[] = []
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hf-ledger-'))
  problems = []
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const ENTRY = { address: address('192.0.2.100'), prefixLength: 32, interfaceName: 'eth0' }
const SIX = { address: address('2001:db8::100'), prefixLength: 128, interfaceName: 'eth0' }
const file = () => join(directory, 'addresses.json')
const ledger = (where = directory) => new LedgerFile(where, (message) => problems.push(message))
const entries = () => readLedger(directory).entries

test('a written ledger is read with the same entries', async () => {
  const kept = ledger()
  kept.write([ENTRY, SIX])
  await kept.flush()
  expect(kept.read()).toEqual({ entries: [ENTRY, SIX], problem: undefined })
  expect([statSync(file()).mode & 0o777, readdirSync(directory), problems]).toEqual([0o600, ['addresses.json'], []])
})

test('writing creates the directory, and reading without a directory is no problem', async () => {
  const deep = join(directory, 'a', 'b')
  expect(readLedger(deep)).toEqual({ entries: [], problem: undefined })
  const kept = ledger(deep)
  kept.write([ENTRY])
  await kept.flush()
  expect(existsSync(join(deep, 'addresses.json'))).toBe(true)
})

test.each([
  ['no JSON', '{'],
  ['no list', '{"address":"192.0.2.1"}'],
  ['an empty file', ''],
])('%s is a problem in words, and no entry', (_, text) => {
  writeFileSync(file(), text)
  expect(readLedger(directory)).toEqual({ entries: [], problem: expect.stringContaining(file()) })
})

test('invalid entries are dropped, and the other entries are used', () => {
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

test('an unwritable path gives a message, not an exception', async () => {
  writeFileSync(join(directory, 'file'), '')
  const below = join(directory, 'file', 'below')
  const kept = ledger(below)
  kept.write([ENTRY])
  await kept.flush()
  expect(problems).toEqual([expect.stringMatching(/^Cannot write .*below/)])
  expect(readLedger(below).problem).toMatch(/^Cannot read/)
})

test('a ledger that could not be written is written with the next change, and leaves no partial file', async () => {
  // rename() does not replace a folder, even for root.
  mkdirSync(file())
  const kept = ledger()
  kept.write([ENTRY])
  await kept.flush()
  expect([problems.length, readdirSync(directory)]).toEqual([1, ['addresses.json']])
  rmdirSync(file())
  kept.write([ENTRY, SIX])
  await kept.flush()
  expect([entries(), problems.length]).toEqual([[ENTRY, SIX], 1])
})

test('the ledger is written only after it has grown, and keeps entries that are still needed', async () => {
  const kept = ledger()
  const grown = new AddressLedger(kept)
  grown.add([])
  await kept.flush()
  expect(existsSync(file())).toBe(false)
  grown.add([ENTRY])
  grown.add([SIX])
  await kept.flush()
  expect(entries()).toEqual([ENTRY, SIX])
  writeFileSync(file(), '[]')
  grown.add([ENTRY])
  await kept.flush()
  expect(readFileSync(file(), 'utf8')).toBe('[]')
  grown.retain((entry) => entry === SIX)
  await kept.flush()
  expect(entries()).toEqual([SIX])
})

test('no caller waits for a disk that hangs, and the newest list is written when the disk answers', async () => {
  // Opening a FIFO for writing waits for a reader.
  execFileSync('mkfifo', [`${file()}.new`])
  const kept = ledger()
  const begin = monotonicMs()
  kept.write([ENTRY])
  kept.write([])
  kept.write([SIX])
  await sleep(50)
  const took = monotonicMs() - begin
  expect([took < 1_000, existsSync(file())], `after ${took} ms`).toEqual([true, false])
  await kept.flush()
  expect(monotonicMs() - begin, 'ms that the end of the daemon waits').toBeLessThan(3_000)
  const reader = openSync(`${file()}.new`, constants.O_RDONLY | constants.O_NONBLOCK)
  await eventually(
    'the newest list in the file',
    () => statSync(file(), { throwIfNoEntry: false })?.isFile() === true,
    { sight: () => problems, within: 5_000 },
  )
  closeSync(reader)
  expect(entries()).toEqual([SIX])
})
