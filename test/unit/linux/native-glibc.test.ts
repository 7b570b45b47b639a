/** The glibc that the prebuilt addon requires, by the versions of the symbols that it names. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** Minor version of glibc in Debian 10 and RHEL 8; docs/install.md promises it. */
const OLDEST = 28

test('the prebuilt addon requires no newer glibc than the documents promise', () => {
  const folder = join(import.meta.dirname, '..', '..', '..', 'native', 'prebuilds', `linux-${process.arch}`)
  const binary = readFileSync(join(folder, 'holdfast.glibc.node'), 'latin1')
  const versions = [...new Set(binary.match(/GLIBC_2\.\d+/g))]
  expect(versions.length, 'versions that are named').toBeGreaterThan(0)
  expect(versions.filter((version) => Number(version.split('.')[1]) > OLDEST)).toEqual([])
})
