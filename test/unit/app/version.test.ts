/**
 * One version of this package: in package.json, which `holdfast --version`, the release and the bill of materials read, and
 * in the files that have to repeat it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { VERSION } from '../../../src/app/version.ts'

const ROOT = join(import.meta.dirname, '../../..')
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8')

test('the program shows the version of package.json', () => {
  expect(VERSION).toBe(JSON.parse(textOf('package.json')).version)
})

test('package-lock.json, of which the bill of materials is made, has the version twice', () => {
  const lock = JSON.parse(textOf('package-lock.json'))
  expect([lock.version, lock.packages[''].version]).toEqual([VERSION, VERSION])
})

test('the label of the image has the version unless the build names another one', () => {
  expect(textOf('Dockerfile')).toContain(`ARG VERSION=${VERSION}\n`)
})

test('the changelog begins with the version', () => {
  expect(/^## (\S+)/m.exec(textOf('CHANGELOG.md'))?.[1]).toBe(VERSION)
})

test('every manifest and page names the image of the version', () => {
  const folder = 'deploy/static-pod'
  const manifests = readdirSync(join(ROOT, folder)).map((name) => join(folder, name))
  const tags = [...manifests, 'docs/install.md', 'docs/static-pod.md'].flatMap((path) =>
    [...textOf(path).matchAll(/\/holdfast(?:-openshift)?:(\d\S*)/g)].map(([, tag]) => tag),
  )
  expect(tags.length).toBeGreaterThanOrEqual(8)
  expect(new Set(tags)).toEqual(new Set([VERSION]))
})
