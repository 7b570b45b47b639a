/** A file with one address on a real disk: reading never blocks, and later changes are noticed. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import { readAddressFile, WatchedAddressFiles } from '../../../src/files/address-file.ts'
import { eventually, sleep } from '../../../src/lab/wait.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'hf-address-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

test('a file that is not one address gives the reason', () => {
  const path = join(folder(), 'ip')
  expect(readAddressFile(path)).toEqual({ problem: 'it does not exist' })
  expect(readAddressFile(join(path, 'below'))).toEqual({ problem: 'it does not exist' })
  execFileSync('mkfifo', [path])
  expect(readAddressFile(path), 'a pipe without a writer').toEqual({ problem: 'it is not a regular file' })
  rmSync(path)
  mkdirSync(path)
  expect(readAddressFile(path)).toEqual({ problem: 'it is not a regular file' })
  rmSync(path, { recursive: true })
  writeFileSync(path, `10.0.0.5${' '.repeat(1_000)}`)
  expect(readAddressFile(path)).toEqual({ problem: 'the file is too long for one address' })
  writeFileSync(path, '10.0.0.5\n')
  expect(readAddressFile(path)).toEqual({ address: '10.0.0.5' })
})

test('a file is followed through the creation of its folder, its replacement, a change in place and its removal', async () => {
  const path = join(folder(), 'later', 'ip')
  const files = new WatchedAddressFiles()
  onTestFinished(() => files.close())
  const news: unknown[] = []
  const told = (wanted: unknown) =>
    eventually(`news of ${JSON.stringify(wanted)}`, () => JSON.stringify(news.at(-1)) === JSON.stringify(wanted), {
      sight: () => news,
      within: 10_000,
      every: 20,
    })
  const first = files.follow([path], (_, reading) => news.push(reading))
  expect([...first]).toEqual([[path, { problem: 'it does not exist' }]])
  mkdirSync(join(path, '..'))
  writeFileSync(path, '10.0.0.5\n')
  await told({ address: '10.0.0.5' })
  writeFileSync(`${path}.new`, '10.0.0.6\n')
  renameSync(`${path}.new`, path)
  await told({ address: '10.0.0.6' })
  writeFileSync(path, '10.0.0.7\n')
  await told({ address: '10.0.0.7' })
  rmSync(path)
  await told({ problem: 'it does not exist' })
})

test('a file that was read for the next configuration is not read again when it takes effect', async () => {
  const path = join(folder(), 'ip')
  writeFileSync(path, '10.0.0.5\n')
  const files = new WatchedAddressFiles()
  onTestFinished(() => files.close())
  const parsed = parseConfig(
    `virtualRouters: [{ name: a, vrid: 1, addresses: [10.0.0.200], interface: { holding: ${path} } }]`,
  )
  if ('problems' in parsed) throw new Error('a configuration wanted')
  await files.prepare(parsed.config)
  writeFileSync(path, '10.0.0.6\n')
  const news: unknown[] = []
  expect([...files.follow([path], (_, reading) => news.push(reading))]).toEqual([[path, { address: '10.0.0.5' }]])
  await eventually('the news since', () => JSON.stringify(news.at(-1)) === JSON.stringify({ address: '10.0.0.6' }), {
    sight: () => news,
    within: 10_000,
    every: 20,
  })
})

test('a file that changes all the time is read a few times a second, and one that is not followed is not read', async () => {
  const path = join(folder(), 'ip')
  writeFileSync(path, '10.0.0.1\n')
  const files = new WatchedAddressFiles()
  onTestFinished(() => files.close())
  let looks = 0
  files.follow([path], () => looks++)
  const until = Date.now() + 2_000
  for (let i = 0; Date.now() < until; i++) {
    writeFileSync(path, `10.0.0.${i % 250}\n`)
    await sleep(1)
  }
  expect(looks).toBeGreaterThan(1)
  expect(looks).toBeLessThan(10)
  files.follow([], () => {})
  await sleep(100)
  const before = looks
  writeFileSync(path, '10.0.0.99\n')
  await sleep(1_500)
  expect(looks).toBe(before)
})
