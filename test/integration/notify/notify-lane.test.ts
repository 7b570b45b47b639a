/**
 * Programs of notifications, real programs through real launchers: what they receive, in which order, and what remains
 * of them.
 */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually, monotonicMs, sleep } from '../../../src/lab/wait.ts'
import { planOf } from '../../../src/notify/keepalived-arguments.ts'
import type { NotifyEvent, NotifyNews, NotifyPrograms } from '../../../src/notify/notification.ts'
import { NotifyService } from '../../../src/notify/notify-service.ts'
import { millis } from '../../../src/wire/units.ts'
import { markedProcesses } from '../../support/marked-processes.ts'
import { probePorts } from '../../support/probe-ports.ts'

const API = { kind: 'router', name: 'api' } as const
const PATIENCE = { within: 20_000 }

let folder = ''
let service: NotifyService
let heard: NotifyNews[] = []
let lastId = 0

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hf-notify-'))
  chmodSync(folder, 0o755)
  heard = []
  service = new NotifyService((news) => heard.push(news), probePorts.launch)
})
afterEach(async () => {
  service.obey({ kind: 'endLanes' })
  const isQuiet = () => {
    for (const { pid } of left()) killQuietly(pid)
    return left().length === 0
  }
  await eventually('no process of the programs', isQuiet, { sight: left, ...PATIENCE })
  rmSync(folder, { recursive: true, force: true })
})

const mark = () => `HOLDFAST_NOTIFY=${folder}`
/** The programs of this test put a mark into their environment themselves, because a program receives only PATH. */
const left = () => markedProcesses(mark())

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process ended by itself in between.
  }
}

/** Writes a program that writes its arguments to a file, a line for each run. */
function program(name: string, text = ''): [string] {
  const path = join(folder, name)
  const body = `echo "${name} $*" >> ${folder}/seen\nexport ${mark()}\n${text}`
  writeFileSync(path, `#!/bin/sh\n${body}\n`)
  chmodSync(path, 0o755)
  return [path]
}

const seen = () => {
  const path = join(folder, 'seen')
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split(/ *\n/) : []
}
const timeout = millis(10_000)

function post(programs: NotifyPrograms, event: NotifyEvent, priority = 100): number {
  const { runs, set } = planOf(API, programs)
  const id = ++lastId
  service.obey({
    kind: 'notify',
    notification: {
      id,
      lane: 'router api',
      set,
      runs: runs[event].map((index) => ({
        index,
        number: set.programs[index]?.numbered === true ? priority : undefined,
      })),
      timeout: programs.timeout,
      isLast: event === 'stop',
    },
  })
  return id
}

const done = (id: number) =>
  eventually(`the end of ${id}`, () => heard.find((news) => news.kind === 'done' && news.id === id), {
    sight: () => ({ heard, seen: seen() }),
    ...PATIENCE,
  })
const results = (id: number) => heard.flatMap((news) => (news.kind === 'ran' && news.id === id ? [news.reason] : []))

test('programs run one after another with their own arguments and those of keepalived', async () => {
  const programs = {
    active: [...program('active'), 'a b'],
    stop: program('stop'),
    change: [...program('change', 'sleep 0.1'), '-v'],
    timeout,
  } as const
  post(programs, 'active', 7)
  post(programs, 'backup', 255)
  post(programs, 'removed', 0)
  await done(post(programs, 'fault'))
  await done(post(programs, 'stop', 200))
  expect(seen()).toEqual([
    'active a b',
    'change -v INSTANCE api MASTER 7',
    'change -v INSTANCE api BACKUP 255',
    'change -v INSTANCE api FAULT 0',
    'change -v INSTANCE api FAULT 100',
    'stop',
    'change -v INSTANCE api STOP 200',
  ])
})

test('a program has only PATH, no input, no privileges and its own session', async () => {
  const text = `{ env | cut -d= -f1 | sort | tr '\\n' ' '; grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status | tr -s '\\t\\n' ' '
test "$(cut -d' ' -f5,6 /proc/$$/stat)" = "$$ $$" && echo own; cat; } > ${folder}/found`
  await done(post({ active: program('active', text), timeout }, 'active'))
  expect(readFileSync(join(folder, 'found'), 'utf8')).toBe(
    'HOLDFAST_NOTIFY PATH PWD CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1 own\n',
  )
})

test.skipIf(process.getuid?.() !== 0)(
  'with "keep" they have the rights of the daemon, from the next one on',
  async () => {
    const change = program('change', `grep ^CapEff /proc/self/status >> ${folder}/found`)
    await done(post({ change, timeout }, 'active'))
    await done(post({ change, capabilities: 'keep', timeout }, 'backup'))
    await done(post({ change, timeout }, 'fault'))
    const own = /^CapEff:.*$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[0]
    const none = `CapEff:\t${'0'.repeat(16)}`
    expect(readFileSync(join(folder, 'found'), 'utf8').trim().split('\n')).toEqual([none, own, none])
  },
)

test('a failure is reported with exit status and output, and the next program runs', async () => {
  const change = program('change', 'echo no service >&2; exit 3')
  const id = post({ active: ['/nonexistent/program'], change, timeout }, 'active')
  await done(id)
  expect(results(id)).toEqual(['notRunnable', 'exitStatus'])
  expect(heard.findLast(({ kind }) => kind === 'ran')).toMatchObject({
    detail: `${change[0]} ended with 3: no service`,
  })
})

test('a program that others can write is not run', async () => {
  const active = program('active')
  chmodSync(active[0], 0o777)
  const id = post({ active, timeout }, 'active')
  await done(id)
  expect([results(id), seen()]).toEqual([['scriptUnsafe'], []])
})

test('a program is killed after its timeout, with grandchildren in other sessions', async () => {
  const away = `setsid sh -c 'trap "" TERM; (setsid sleep 81 &) ; sleep 82' &`
  const change = program('change', `trap '' TERM\n${away}\nsleep 83`)
  const id = post({ change, timeout: millis(300) }, 'active')
  await eventually('the whole family', () => left().length >= 4, { sight: left, ...PATIENCE })
  await done(id)
  expect(results(id)).toEqual(['timeout'])
  expect(left()).toEqual([])
})

test('processes started by a program that ended survive, also if a later program is killed', async () => {
  const service = `setsid sh -c 'while :; do echo alive || exit; sleep 0.05; done' &`
  const active = program('active', service)
  const change = program('change', 'test "$3" = BACKUP && exec sleep 84')
  const programs = { active, change, timeout: millis(500) }
  await done(post(programs, 'active'))
  const [started] = left()
  expect(started, 'the service').toBeDefined()
  const killed = post(programs, 'backup')
  await done(killed)
  expect(results(killed)).toEqual(['timeout'])
  await sleep(300)
  // The program writes to an output that no process reads any longer.
  expect(left().map(({ pid }) => pid)).toContain(started?.pid)
})

test('of too many waiting programs the newest run and the oldest are dropped', async () => {
  const programs = { change: program('change', `test "$4" = 0 && sleep 0.5`), timeout }
  const first = post(programs, 'active', 0)
  const ids = Array.from({ length: 20 }, (_, i) => post(programs, i % 2 === 0 ? 'backup' : 'active', i + 1))
  await done(ids.at(-1) ?? 0)
  const dropped = heard.flatMap((news) => (news.kind === 'superseded' ? [news.id - first] : []))
  expect(dropped).toEqual([1, 2, 3, 4])
  expect(seen().map((line) => Number(line.split(' ').at(-1)))).toEqual([
    0,
    ...Array.from({ length: 16 }, (_, i) => i + 5),
  ])
})

test('the last notification does not wait: a running program gets one more second', async () => {
  const programs = {
    active: program('active', 'exec sleep 85'),
    backup: program('backup'),
    stop: program('stop'),
    timeout,
  }
  const active = post(programs, 'active')
  await eventually('its start', () => seen().length === 1, { sight: seen, ...PATIENCE })
  const backup = post(programs, 'backup')
  const from = monotonicMs()
  await done(post(programs, 'stop'))
  expect(monotonicMs() - from, 'ms').toBeLessThan(4_500)
  expect(seen()).toEqual(['active', 'stop'])
  expect([results(active), heard.some((news) => news.kind === 'superseded' && news.id === backup)]).toEqual([
    ['timeout'],
    true,
  ])
})

test('the lane sends a heartbeat every second only while a program runs', async () => {
  const id = post({ active: program('active', 'sleep 2.5'), timeout }, 'active')
  await done(id)
  const beats = () => heard.filter(({ kind }) => kind === 'beat').length
  expect(beats()).toBeGreaterThanOrEqual(2)
  const before = beats()
  await sleep(1_500)
  expect(beats() - before).toBeLessThanOrEqual(1)
})
