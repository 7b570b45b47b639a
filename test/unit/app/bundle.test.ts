/**
 * What is in which file of the bundle: the client of the Kubernetes API costs an engine nothing, because no file that an
 * engine loads has it, or asks for the one that has.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const BUNDLE = join(import.meta.dirname, '..', '..', '..', 'dist', 'bundle')
const read = (file: string) => readFileSync(join(BUNDLE, file), 'utf8')
const files = readdirSync(BUNDLE).filter((name) => name.endsWith('.js'))
const CLIENT = 'insecure-skip-tls-verify'

test('one file has the client of the Kubernetes API, and only the agent, the two monitors, the operator and runtimecfg ask for it', () => {
  const having = files.filter((file) => read(file).includes(CLIENT))
  expect(having, `files with "${CLIENT}"`).toHaveLength(1)
  const [file = ''] = having
  expect(file).toMatch(/^cluster-access-/)
  const asking = files.filter((each) => each !== file && read(each).includes(file))
  // Of program.ts, which is among what every command loads, the files of these commands are asked for by their names alone.
  expect(asking.filter((each) => !/^(?:agent|monitor-run|operator-run|render)-/.test(each))).toEqual([])
  expect(asking.length).toBeGreaterThan(0)
})

test('what an engine and its worker load stays without it', () => {
  const { files: places }: { files: Record<string, string> } = JSON.parse(read('bundle.json'))
  const loaded = new Set(['engine.js', 'configuration.js', 'checks.js'])
  expect(Object.values(places).filter((file) => loaded.has(file)).length).toBeGreaterThan(10)
  for (const file of loaded) expect(read(file).includes(CLIENT), file).toBe(false)
})

test('no file loads a module of which a newer Node warns at its first use', () => {
  const deprecated = /\brequire\(["'](?:node:)?(?:punycode|sys|domain|_\w+)["']\)/g
  const found = files.flatMap((file) => [...read(file).matchAll(deprecated)].map(([text]) => `${file}: ${text}`))
  expect(found).toEqual([])
})
