/**
 * Compares the ways of docs/architecture.md, "Ways through the code", with the calls of an engine behind fake ports.
 * Every list must name existing files and functions, have the promised length, and match the calls between cause and
 * effect.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { readConfiguration } from '../../../src/app/start.ts'
import { configSchema } from '../../../src/config/config.ts'
import { Router } from '../../../src/daemon/router/router.ts'
import { FakeWorld, link, ROUTER } from './fake-world.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PAGE = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')

type Hop = { readonly number: number; readonly file: string; readonly name: string | undefined }

/** Returns the lists under a heading of the page. */
function listsUnder(heading: string): readonly Hop[] {
  const [, section = ''] = PAGE.split(`\n### ${heading}\n`)
  const [own = ''] = section.split(/\n##+ /)
  return [...own.matchAll(/^(\d+)\. `([^`]+)`(?: `([^`]+)`)?/gm)].map(([, number, file = '', name]) => {
    return { number: Number(number), file, name }
  })
}

const PACKET = listsUnder('From a packet to a state')
const DEADLINE = listsUnder('From a deadline to an address and an announcement')
const HEALTH = listsUnder('From a health result to the priority on the wire')
const CABLE = listsUnder('From a lost cable to the end of an address')
const CONFIGURATION = listsUnder('From a line of configuration to a running router')
/** The two branches of the deadline's way begin with the number after the hops that they share. */
const [FIRST_BRANCH, SECOND_BRANCH] = DEADLINE.flatMap(({ number }, i) => (number === 5 ? [i] : []))
const DECISION = DEADLINE.slice(0, FIRST_BRANCH)
const ADDRESS = DEADLINE.slice(FIRST_BRANCH, SECOND_BRANCH)
const ANNOUNCEMENT = DEADLINE.slice(SECOND_BRANCH)

const WAYS = {
  'packet to state': PACKET,
  'deadline to address and announcement': DEADLINE,
  'health result': HEALTH,
  'lost cable': CABLE,
  'line of configuration': CONFIGURATION,
}

test.each(Object.entries(WAYS))('every hop of %s names a file and a function that is in it', (_, hops) => {
  expect(hops.length).toBeGreaterThan(0)
  const wrong = hops.filter(({ file, name }) => {
    const path = join(ROOT, file)
    return (
      !existsSync(path) || (name !== undefined && !new RegExp(`(^|[^\\w#])${name}\\b`).test(readFileSync(path, 'utf8')))
    )
  })
  expect(wrong).toEqual([])
})

test('the ways are as short as promised', () => {
  const last = (hops: readonly Hop[]) => hops.at(-1)?.number ?? Number.POSITIVE_INFINITY
  expect(last(PACKET)).toBeLessThanOrEqual(10)
  expect([last(ADDRESS), last(ANNOUNCEMENT)].filter((hops) => !(hops <= 15))).toEqual([])
  expect(last(HEALTH)).toBeLessThanOrEqual(12)
  expect(last(CABLE) + ADDRESS.length).toBeLessThanOrEqual(13)
  expect(last(CONFIGURATION)).toBeLessThanOrEqual(10)
})

/**
 * Returns the files of src/ on the call stack, the first caller first. Consecutive calls inside one file count once.
 */
function stackOfFiles(isMeant = (file: string) => file.startsWith('src/daemon/')): readonly string[] {
  const lines = (new Error().stack ?? '').split('\n')
  const files = lines.flatMap((line) => /[/(](src\/[\w/-]+\.ts):/.exec(line)?.[1] ?? []).reverse()
  return files.filter((file, i) => isMeant(file) && file !== files[i - 1])
}

/** Returns the files of the engine in a list, without those behind a port, which is a fake here. */
const engineFiles = (hops: readonly Hop[]): readonly string[] =>
  hops
    .map(({ file }) => file)
    .filter((file) => file.startsWith('src/daemon/'))
    .filter((file, i, files) => file !== files[i - 1])

const ROUTER_FILE = 'src/daemon/router/router.ts'
const TURN_LOOP = 'src/daemon/turn-loop.ts'

/** Stacks of the calls of apply() that change the state or order an effect, each with the file of apply() itself. */
function watchApply(): readonly string[][] {
  const stacks: string[][] = []
  const apply = Router.prototype.apply
  vi.spyOn(Router.prototype, 'apply').mockImplementation(function (this: Router, step, now) {
    if (step.state !== this.state || step.effects.length > 0) stacks.push([...stackOfFiles(), ROUTER_FILE])
    return apply.call(this, step, now)
  })
  onTestFinished(() => void vi.restoreAllMocks())
  return stacks
}

let limit = 0
beforeAll(() => {
  limit = Error.stackTraceLimit
  Error.stackTraceLimit = 100
  return () => {
    Error.stackTraceLimit = limit
  }
})

test('a packet takes the way of the page to a state', () => {
  const world = new FakeWorld([ROUTER]).start()
  const stacks = watchApply()
  world.hear(200)
  expect(stacks.at(-1)).toEqual(engineFiles(PACKET))
})

test('a deadline takes the way of the page to an address and an announcement', () => {
  const world = new FakeWorld([ROUTER]).start()
  const decisions = watchApply()
  const written: (readonly string[])[] = []
  const announced: (readonly string[])[] = []
  world.onApply = () => void written.push(stackOfFiles())
  world.onAnnounce = () => void announced.push(stackOfFiles())
  world.advance(4_000)
  expect(decisions[0]).toEqual(engineFiles(DECISION))
  const shared = ['src/daemon/alarm.ts', TURN_LOOP]
  expect(written[0]).toEqual([...shared, ...engineFiles(ADDRESS)])
  const sent = ANNOUNCEMENT.filter(({ number }) => number >= 9)
  expect(announced[0]).toEqual([...shared, ...engineFiles(sent)])
})

test('a health result takes the way of the page to the priority on the wire', () => {
  const routers = [{ ...ROUTER, track: [{ healthcheck: 'web', weight: 50 }] }]
  const world = new FakeWorld(routers, { healthchecks: [{ name: 'web', tcp: 'localhost:1' }] }).start()
  world.health('web', 'up')
  world.advance(5_000)
  const decisions = watchApply()
  const sent: (readonly string[])[] = []
  world.onSend = () => void sent.push(stackOfFiles())
  world.health('web', 'down')
  const turn = HEALTH.findIndex(({ file }) => file === TURN_LOOP)
  expect(decisions[0]).toEqual(engineFiles(HEALTH.slice(0, turn)))
  expect(sent[0]).toEqual([HEALTH[5]?.file, ...engineFiles(HEALTH.slice(turn))])
})

test('a lost cable takes the way of the page to the end of an address', () => {
  const world = new FakeWorld([ROUTER]).start()
  world.advance(4_000)
  const decisions = watchApply()
  const removed: (readonly string[])[] = []
  world.onRemove = () => void removed.push(stackOfFiles())
  world.setLink(link(2, 'eth0', { running: false }))
  const turn = CABLE.findIndex(({ file }) => file === TURN_LOOP)
  expect(decisions[0]).toEqual(engineFiles(CABLE.slice(0, turn)))
  expect(removed[0]).toEqual([CABLE[1]?.file, ...engineFiles([...CABLE.slice(turn), ...ADDRESS])])
})

test('a configuration takes the way of the page to a running router', () => {
  const decisions = watchApply()
  new FakeWorld([ROUTER]).start()
  expect(decisions[0]).toEqual(engineFiles(CONFIGURATION))
})

test('a line of configuration takes the way of the page to the schema', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hf-ways-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'holdfast.yaml')
  writeFileSync(file, 'virtualRouters: []\n')
  const judged: (readonly string[])[] = []
  const safeParse = configSchema.safeParse
  vi.spyOn(configSchema, 'safeParse').mockImplementation((value, options) => {
    judged.push(stackOfFiles(() => true))
    return safeParse(value, options)
  })
  onTestFinished(() => void vi.restoreAllMocks())
  readConfiguration({ file, options: { force: false, core: false } })
  const [first, second, third] = CONFIGURATION.filter(({ file: hop }) => !hop.startsWith('src/daemon/')).slice(2)
  const reading = [first, second, third].map((hop) => hop?.file)
  expect(judged[0]).toEqual([...reading, 'src/config/configuration.ts'])
})

test('the command, the stages and the reader of a configuration are one behind the other', () => {
  const [command, stages, reader] = CONFIGURATION.map(({ file }) => ({
    file,
    text: readFileSync(join(ROOT, file), 'utf8'),
  }))
  expect(command?.text).toMatch(/\brunCommand\(/)
  expect(command?.text).toContain(`import('../../${relative(join(ROOT, 'src'), join(ROOT, stages?.file ?? ''))}')`)
  expect(stages?.text).toMatch(/^async function stages[^}]*\bawait start\(order\)/m)
  expect(stages?.text).toContain(`from './${basename(reader?.file ?? '')}'`)
  expect(stages?.text).toMatch(/\borders\.start\(\)/)
})
