/**
 * Errors of a keepalived file: the file is refused where keepalived 2.2.7 refuses it; otherwise keepalived's value is
 * in force.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runCommand } from '../../../src/app/run.ts'
import { checkCommand } from '../../../src/cli/check.ts'
import { convertCommand } from '../../../src/cli/convert.ts'
import { keepalivedCommand } from '../../../src/cli/keepalived.ts'
import type { Config } from '../../../src/config/config.ts'
import { effectivePriority } from '../../../src/config/weights.ts'
import { freshConfig } from '../../../src/files/fresh-configuration.ts'
import { loadKeepalivedConfig } from '../../../src/files/keepalived-file.ts'
import { keepalivedTest } from '../../../src/keepalived/config-test.ts'
import { instanceOf, REFUSED, USED, type Used } from '../../support/keepalived-refusals.ts'

const READING = { configId: undefined, allFiles: false }

let folder = ''
const fileWith = (text: string): string => {
  const file = join(folder, 'keepalived.conf')
  writeFileSync(file, text)
  return file
}
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hf-values-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const loaded = (text: string) => {
  const read = loadKeepalivedConfig(fileWith(text))
  if ('problems' in read) throw new Error(JSON.stringify(read.problems))
  return read
}

describe.each(REFUSED)('$title', ({ text, test: status }) => {
  test('check, convert, -t, run and a reload refuse the file', async () => {
    const file = fileWith(text)
    const check = await checkCommand(file)
    expect(check.exitCode, check.stderr).toBe(78)
    expect(check.stderr).toMatch(/keepalived\.conf:\d+:\d+: (?!warning)/)
    expect((await convertCommand(file)).exitCode).toBe(78)
    expect((await keepalivedTest(file, READING)).exitCode).toBe(status)
    expect(await runCommand(file, { core: false, force: false, keepalived: { reading: READING, ...NO_FILES } })).toBe(
      78,
    )
    expect(await keepalivedCommand(['-n', '-f', file])).toBe(2)
    const inForce = loaded(instanceOf()).config
    const order = { file: fileWith(text), keepalived: READING, node: { interfaces: [] }, inForce }
    expect(await freshConfig(order)).toMatchObject({ ok: false })
  })
})

const NO_FILES = { pidFile: undefined, vrrpPidFile: undefined, socket: undefined, warnings: [] }

test('each problem of a refused file is reported once, and the lack of routers is not', async () => {
  const { stderr } = await checkCommand(fileWith(`${instanceOf()}${instanceOf({}, 'VI_2', '10.44.0.101/24')}`))
  expect(stderr.match(/cannot use 51 twice/g)).toHaveLength(1)
  const typo = await checkCommand(fileWith(instanceOf({ vrid: 'virtual_router_ID 51' })))
  expect(typo.stderr.trim().split('\n')).toEqual([
    expect.stringContaining(
      'keepalived.conf:1:1: vrrp_instance VI_1: virtual_router_id is required, an integer from 1 to 255 (keepalived refuses this file as well)',
    ),
    expect.stringContaining('keepalived has no keyword "virtual_router_ID" there'),
  ])
})

test('an instance without an address is refused, although keepalived runs it', async () => {
  const { exitCode, stderr } = await checkCommand(fileWith(instanceOf().replace('10.44.0.100/24', '')))
  expect([exitCode, stderr]).toEqual([78, expect.stringContaining('virtual_ipaddress is required')])
})

test('a message about a value quotes it and names the value in force', () => {
  const { warnings } = loaded(instanceOf({ priority: 'priority 300', state: 'state MASTER', interval: 'advert_int 0' }))
  expect(warnings.map(({ message }) => message)).toEqual(
    expect.arrayContaining([
      'priority: cannot use "300", expected an integer from 1 to 255; 100 is used, as in keepalived',
      'advert_int: cannot use "0", expected seconds from 0.01 to 255; the line is ignored, as in keepalived',
    ]),
  )
  const { warnings: ofAddress } = loaded(instanceOf({}, 'VI_1', 'hello\n10.44.0.100/40'))
  expect(ofAddress.map(({ message }) => message)).toEqual(
    expect.arrayContaining([
      'virtual_ipaddress: cannot use "hello", expected an IP address; the line is ignored, as in keepalived',
      'The prefix length of 10.44.0.100/40 is too long: it becomes 10.44.0.100/32, as in keepalived',
    ]),
  )
})

test('an include without a match gives a warning, and -t passes, as in keepalived', async () => {
  const file = fileWith(`include /nonexistent/*.conf\n${instanceOf({}, 'VI_1', '10.44.0.100')}`)
  const { lines, exitCode } = await keepalivedTest(file, READING)
  expect([exitCode, lines.join()]).toEqual([0, expect.stringContaining('"/nonexistent/*.conf" matches no file')])
  expect((await checkCommand(file)).stdout).toContain('matches no file: nothing is included')
})

/** Observed: keepalived 2.2.7 runs its notify program with `INSTANCE VI_1 FAULT 93`. */
test('a track file of -254 is a fault and does not change the priority, while one of -7 does', () => {
  const files = [
    { weight: 1, content: -254 },
    { weight: -7, content: 1 },
  ]
  expect(effectivePriority(100, files)).toMatchObject({ priority: 93, fault: true })
})

test('a process without a weight puts its instance in FAULT', () => {
  const text = `vrrp_track_process p {\nprocess nothing\n}\n${instanceOf({ more: 'track_process {\np\n}' })}`
  expect(loaded(text).config.virtualRouters[0]?.track).toMatchObject([{ healthcheck: 'p' }])
  expect(loaded(text).config.virtualRouters[0]?.track[0]).not.toHaveProperty('weight', 1)
})

describe('after a value with an error keepalived has', () => {
  test.each(USED)('%s', (_, text, used) => {
    expect(valuesOf(loaded(text).config)).toMatchObject(used)
  })
})

/** Returns the values of keepalived's dump, from holdfast's configuration; every script is down. */
function valuesOf({ virtualRouters: [router], healthchecks: [check] }: Config): Used {
  if (router === undefined) throw new Error('no router')
  const weights = router.track.map((tracker) => tracker.weight)
  const fault = weights.includes(0) ? ({ fault: true } as const) : {}
  const sum = weights.reduce<number>((total, weight) => total + Math.min(0, weight), router.priority)
  const { announce, transport } = router
  const ttl = typeof transport === 'object' && 'unicast' in transport ? transport.unicast.ttl : undefined
  const probe = check?.kind === 'probe' ? check.spec : undefined
  const [, again] = announce?.at ?? [0, 5000]
  return {
    priority: router.priority,
    effective: Math.max(1, sum),
    ...fault,
    interval: router.advertisementInterval,
    state: router.startAs === 'active' || router.priority === 255 ? 'MASTER' : 'BACKUP',
    version: router.version,
    vrid: router.vrid,
    garpDelay: (again ?? 0) / 1000,
    garpRepeat: announce?.copies ?? 5,
    lowerDelay: (announce?.onRival?.delay ?? 5000) / 1000,
    lowerRepeat: announce?.onRival?.copies ?? 5,
    ttl: ttl ?? 255,
    timeout: (probe?.timeout ?? 0) / 1000,
    pollInterval: (probe?.cadence.interval ?? 0) / 1000,
    fall: probe?.rule.fall ?? 1,
    rise: probe?.rule.rise ?? 1,
  }
}
