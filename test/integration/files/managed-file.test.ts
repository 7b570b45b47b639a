/** The stored configuration of an engine: on a disk that works, a full disk, and a disk that does not answer. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ManagedFile } from '../../../src/files/managed-file.ts'
import { eventually } from '../../../src/lab/wait.ts'

let directory = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hf-managed-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** A disk that answers a request when the test orders it. */
function slowDisk(longestWait = 5_000, tryAgain = 10_000) {
  const puts: { text: string; done: () => void; fail: (why: string) => void }[] = []
  const told: string[] = []
  const file = new ManagedFile({
    path: join(directory, 'm.yaml'),
    onProblem: (message) => void told.push(message),
    onStored: () => void told.push('kept'),
    put: (_, text) =>
      new Promise((resolve, reject) => {
        puts.push({ text, done: resolve, fail: (why) => reject(new Error(why)) })
      }),
    ...{ longestWait, tryAgain },
  })
  const next = () => eventually('a write to begin', () => puts.shift(), { sight: () => told, within: 5_000, every: 1 })
  return { file, puts, told, next }
}

test('the folder has mode 0700 and the file 0600, and files of interrupted writes are removed', async () => {
  const path = join(directory, 'deep', 'm.yaml')
  const problems: string[] = []
  const file = new ManagedFile({ path, onProblem: (message) => void problems.push(message), onStored: () => {} })
  await file.prepare()
  const litter = `${path}.01234567-89ab-cdef-0123-456789abcdef`
  for (const name of [litter, `${path}.old`]) writeFileSync(name, '')
  await file.prepare()
  expect([existsSync(litter), existsSync(`${path}.old`)]).toEqual([false, true])
  expect(await file.keep('a: 1\n')).toBeUndefined()
  expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['a: 1\n', 0o600])
  expect(statSync(join(directory, 'deep')).mode & 0o777).toBe(0o700)
  expect(readdirSync(join(directory, 'deep')).sort()).toEqual(['m.yaml', 'm.yaml.old'])
  expect([file.problem, problems]).toEqual([null, []])
})

test('during a write, only the newest text waits', async () => {
  const { file, puts, next } = slowDisk()
  const kept = [file.keep('1'), file.keep('2'), file.keep('3')]
  const first = await next()
  expect([first.text, puts.length]).toEqual(['1', 0])
  const later = [file.keep('4'), file.keep('5')]
  first.done()
  const second = await next()
  expect(second.text).toBe('5')
  second.done()
  expect(await Promise.all([...kept, ...later])).toEqual([undefined, undefined, undefined, undefined, undefined])
  expect([puts.length, file.problem]).toEqual([0, null])
})

test('if the disk hangs, the caller gets an answer in time, and the newest text is written when it works again', async () => {
  const { file, told, next } = slowDisk(30)
  const words = expect.stringMatching(/^Cannot write .*m\.yaml: the disk has not answered for 30 ms$/)
  const first = file.keep('old')
  const hanging = await next()
  expect(await first).toEqual(words)
  expect(await file.keep('new')).toEqual(words)
  expect([file.problem, await file.settled(1)]).toEqual([words, expect.stringMatching(/for 1 ms$/)])
  hanging.done()
  const last = await next()
  expect(last.text, 'not in the order in which a disk answers').toBe('new')
  last.done()
  await eventually('it to be kept', () => file.problem === null, { sight: () => file.problem, within: 5_000, every: 1 })
  expect(told.at(-1)).toBe('kept')
})

test('a full disk is reported immediately, and the write is tried again', async () => {
  const { file, told, next } = slowDisk(5_000, 20)
  const kept = file.keep('text')
  ;(await next()).fail('the disk is full')
  expect([await kept, file.problem]).toEqual(['the disk is full', 'the disk is full'])
  const again = await next()
  expect(again.text).toBe('text')
  again.done()
  await eventually('it to be kept', () => file.problem === null, { sight: () => told, within: 5_000, every: 1 })
  expect(told).toEqual(['the disk is full', 'kept'])
  expect(await file.settled()).toBeUndefined()
})

test('a folder in the place of the file is a problem as text, not a rejection', async () => {
  const problems: string[] = []
  const path = join(directory, 'm.yaml', 'x')
  writeFileSync(join(directory, 'm.yaml'), '')
  const file = new ManagedFile({ path, onProblem: (message) => void problems.push(message), onStored: () => {} })
  await file.prepare()
  expect(await file.keep('text')).toMatch(/ENOTDIR|EEXIST/)
  expect(problems.length).toBe(2)
})
