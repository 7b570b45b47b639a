/**
 * Programs that run at changes of state: real keepalived and holdfast, each on its node, with the same programs and the
 * same events at the same time (docs/notify.md). keepalived and holdfast must run the same programs at each event; the
 * order within one event is undefined in keepalived. A third node has a program that hangs. The hanging program delays
 * no other program, and leaves no process. The last test compares the priorities in the notifications while both
 * daemons track one file of weights.
 */
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LONGEST_LAST_WORD } from '../../src/daemon/telemetry/notices.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, type Host, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { markedProcesses } from '../support/marked-processes.ts'
import { describeNetns } from '../support/require.ts'

const WITHIN = 10_000
/** Time in ms in which an unexpected line would arrive. */
const QUIET = 700
const INTERVAL = 200
const MOMENTS = ['active', 'backup', 'fault', 'stop'] as const
const SUBJECTS = [
  { name: 'one', vrid: 1, priority: 100 },
  { name: 'two', vrid: 2, priority: 100 },
  { name: 'lone', vrid: 3, priority: 90 },
] as const

/** Returns the lines that both daemons must write when all routers enter a state. */
const linesOf = (moment: (typeof MOMENTS)[number], word: string) =>
  [
    `${moment} of one`,
    `${moment} of pair`,
    `INSTANCE one ${word} 100`,
    `INSTANCE two ${word} 100`,
    `INSTANCE lone ${word} 90`,
    `GROUP pair ${word} 0`,
  ].sort()

/** Options of keepalived's file for the states. */
const OPTION = { active: 'notify_master', backup: 'notify_backup', fault: 'notify_fault', stop: 'notify_stop' } as const

function keepalivedFile(program: string): string {
  const told = (name: string) => MOMENTS.map((moment) => `  ${OPTION[moment]} "${program} ${moment} of ${name}"`)
  const change = `  notify "${program}"`
  return [
    'global_defs {\n  script_user root\n  enable_script_security\n}',
    ['vrrp_sync_group pair {', '  group {\n    one\n    two\n  }', ...told('pair'), change, '}'].join('\n'),
    ...SUBJECTS.map(({ name, priority, vrid }) =>
      [
        `vrrp_instance ${name} {`,
        '  state BACKUP\n  interface eth0\n  version 3',
        `  virtual_router_id ${100 + vrid}\n  priority ${priority}\n  advert_int ${INTERVAL / 1000}`,
        `  virtual_ipaddress {\n    10.77.0.${100 + vrid}\n  }`,
        ...(name === 'one' ? told(name) : []),
        change,
        '}',
      ].join('\n'),
    ),
    '',
  ].join('\n')
}

function holdfastKeys(program: string): Record<string, unknown> {
  const change = [program]
  const told = (name: string) => Object.fromEntries(MOMENTS.map((moment) => [moment, [program, moment, 'of', name]]))
  const virtualRouters = SUBJECTS.map(({ name, priority, vrid }) => ({
    ...{ name, vrid: 200 + vrid, interface: 'eth0', addresses: [`10.77.0.${200 + vrid}`], priority },
    advertisementInterval: `${INTERVAL}ms`,
    notify: { ...(name === 'one' ? told(name) : {}), change },
  }))
  return {
    virtualRouters,
    syncGroups: [{ name: 'pair', members: ['one', 'two'], notify: { ...told('pair'), change } }],
  }
}

describeNetns('notification programs', () => {
  let lab: Lab
  let keepalived: LoggedProcess
  let holdfast: Holdfast
  let hung: Holdfast
  let terminatedAt = 0

  beforeAll(() => {
    lab = createLab({ routers: 3 })
  })
  afterAll(() => lab?.destroy())

  function script(name: string, text: string): string {
    const path = join(lab.directory, name)
    writeFileSync(path, `#!/bin/sh\n${text}\n`)
    chmodSync(path, 0o755)
    return path
  }

  const seenBy = (name: string) => {
    const path = join(lab.directory, `${name}.seen`)
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  }
  const recorder = (name: string) => script(name, `echo "$*" >> ${lab.directory}/${name}.seen`)
  const told: Record<string, number> = { keepalived: 0, holdfast: 0 }

  /** Waits until both daemons have run the expected programs since the last call, and checks that they run no more. */
  async function expectBoth(event: string, expected: readonly string[]): Promise<void> {
    const fresh = (name: string) => seenBy(name).slice(told[name])
    const sight = () => ({
      keepalived: fresh('keepalived'),
      holdfast: fresh('holdfast'),
      log: holdfast.lines.slice(-5),
    })
    const names = ['keepalived', 'holdfast']
    const enough = () => names.every((name) => fresh(name).length >= expected.length)
    await eventually(`both to have run ${expected.length} programs: ${event}`, enough, { sight })
    await sleep(QUIET)
    for (const name of names) {
      expect(fresh(name).sort(), `programs that ${name} has run at: ${event}`).toEqual([...expected])
      told[name] = seenBy(name).length
    }
  }

  const host = (position: number): Host => lab.router(position)
  const hungMark = () => `HOLDFAST_HUNG=${lab.directory}`
  const hanging = () => markedProcesses(hungMark())

  test('holdfast and keepalived run the same programs, with the same arguments, at the same events', async () => {
    const file = join(lab.directory, 'keepalived.conf')
    writeFileSync(file, keepalivedFile(recorder('keepalived')))
    const pids = ['--pid', join(lab.directory, 'pid'), '--vrrp_pid', join(lab.directory, 'vrrp.pid')]
    keepalived = new LoggedProcess(
      lab,
      host(1),
      ['keepalived', '--vrrp', '--dont-fork', '--log-console', '--use-file', file, ...pids],
      { TMPDIR: lab.directory },
    )
    const plan = { host: host(2), priority: 100, intervalMs: INTERVAL, address: '10.77.0.200' }
    holdfast = new Holdfast(lab, plan, {}, [], holdfastKeys(recorder('holdfast')))
    const hangs = script(
      'hangs',
      `export ${hungMark()}\ntrap '' TERM\nsetsid sh -c 'trap "" TERM; sleep 91; sleep 92' &\nsleep 93`,
    )
    const notify = { change: [hangs], timeout: '1m' }
    hung = new Holdfast(lab, { ...plan, host: host(3), address: '10.77.0.220' }, { vrid: 220, notify })

    // keepalived and holdfast start and take over without an advertisement of another router. keepalived and holdfast
    // also notify the states in between.
    await expectBoth('start and takeover', [...linesOf('backup', 'BACKUP'), ...linesOf('active', 'MASTER')].sort())
    for (const position of [1, 2]) lab.unplug(host(position))
    await expectBoth('their cables are pulled', linesOf('fault', 'FAULT'))
    await expectHungAtWork()
    for (const position of [1, 2]) lab.plug(host(position))
    await expectBoth('plugged in again', [...linesOf('backup', 'BACKUP'), ...linesOf('active', 'MASTER')].sort())

    const { notifications = [] } = (await holdfast.snapshot()) ?? {}
    expect(notifications.map(({ last, name, runs, waiting }) => [name, runs, waiting, last?.event])).toEqual([
      ['one', { ok: 10 }, 0, 'active'],
      ['two', { ok: 5 }, 0, 'active'],
      ['lone', { ok: 5 }, 0, 'active'],
      ['pair', { ok: 10 }, 0, 'active'],
    ])
    keepalived.signal('SIGTERM')
    holdfast.terminate()
    await expectBoth('SIGTERM', linesOf('stop', 'STOP'))
  })

  /**
   * Checks that the third daemon works beside its hanging program. After that, the function sends SIGTERM to the
   * daemon, whose end takes a while.
   */
  async function expectHungAtWork(): Promise<void> {
    expect(await hung.state()).toBe('Active')
    expect(lab.holders('10.77.0.220')).toEqual(['r3'])
    expect(
      hanging().length,
      'running processes of the program that was started at the start of the daemon',
    ).toBeGreaterThan(0)
    expect(
      (await hung.snapshot())?.notifications,
      'notifications of the third daemon, which wait behind the hanging program',
    ).toMatchObject([{ waiting: 2, runs: {} }])
    terminatedAt = monotonicMs()
    hung.terminate()
  }

  test('a notification program that hangs delays neither the takeover nor the end of the daemon, and leaves no process', async () => {
    const gone = () => hung.process.exit !== undefined
    await eventually('its end', gone, { sight: () => hung.lines.slice(-5), within: LONGEST_LAST_WORD + WITHIN })
    const took = (hung.process.exit?.at ?? Number.NaN) - terminatedAt
    expect(hung.process.exit, `exit of the daemon ${took.toFixed(0)} ms after SIGTERM`).toMatchObject({ code: 0 })
    expect(took, 'ms from SIGTERM to the end of the daemon').toBeLessThan(LONGEST_LAST_WORD + 3_000)
    expect(lab.holders('10.77.0.220')).toEqual([])
    await eventually('nobody', () => hanging().length === 0, { sight: hanging, within: 2_000 })
  })
})

describeNetns('a tracked file of weights, beside keepalived', () => {
  let lab: Lab
  beforeAll(() => {
    lab = createLab({ routers: 2 })
  })
  afterAll(() => lab?.destroy())

  const at = (name: string) => join(lab.directory, name)

  function program(name: string): string {
    writeFileSync(at(name), `#!/bin/sh\necho "$3 $4" >> ${at(name)}.seen\n`)
    chmodSync(at(name), 0o755)
    return at(name)
  }

  function startBoth(): void {
    const load = at('load')
    const conf = [
      'global_defs {\n  script_user root\n  enable_script_security\n}',
      `track_file load {\n  file ${load}\n}`,
      'vrrp_instance one {\n  state BACKUP\n  interface eth0\n  version 3\n  virtual_router_id 101\n  priority 100',
      `  advert_int ${INTERVAL / 1000}\n  track_file {\n    load weight 1\n  }`,
      `  virtual_ipaddress {\n    10.77.0.101\n  }\n  notify "${program('keepalived')}"\n}\n`,
    ]
    writeFileSync(at('keepalived.conf'), conf.join('\n'))
    const options = ['--use-file', at('keepalived.conf'), '--pid', at('pid'), '--vrrp_pid', at('vrrp.pid')]
    const argv = ['keepalived', '--vrrp', '--dont-fork', '--log-console', ...options]
    new LoggedProcess(lab, lab.router(1), argv, { TMPDIR: lab.directory })
    const plan = { host: lab.router(2), priority: 100, intervalMs: INTERVAL, address: '10.77.0.201' }
    const extra = { vrid: 201, notify: { change: [program('holdfast')] }, track: [{ healthcheck: 'load', weight: 1 }] }
    new Holdfast(lab, plan, extra, [], { healthchecks: [{ name: 'load', file: load, content: 'weight' }] })
  }

  /** Returns the lines of both daemons since the start. */
  const seen = () =>
    ['keepalived', 'holdfast'].map((name) =>
      existsSync(at(`${name}.seen`))
        ? readFileSync(at(`${name}.seen`), 'utf8')
            .trim()
            .split('\n')
        : [],
    )

  test('at a weight of -254 or less, both daemons notify FAULT with the priority that was in force before', async () => {
    const steps: readonly (readonly [number, readonly string[]])[] = [
      [5, []],
      [-254, ['FAULT 105']],
      [-5, ['BACKUP 95', 'MASTER 95']],
      [-300, ['FAULT 95']],
      [0, ['BACKUP 100', 'MASTER 100']],
    ]
    writeFileSync(at('load'), '0\n')
    startBoth()
    const expected = ['BACKUP 100', 'MASTER 100']
    const isThere = () => seen().every((lines) => lines.length >= expected.length)
    await eventually('start and takeover of both', isThere, { sight: seen })
    for (const [content, lines] of steps) {
      writeFileSync(at('load'), `${content}\n`)
      expected.push(...lines)
      await eventually(`lines for ${content}: ${lines.join(', ')}`, isThere, { sight: seen })
      await sleep(QUIET)
      expect(seen(), `notifications of keepalived and holdfast after the weight ${content}`).toEqual([
        expected,
        expected,
      ])
    }
  })
})
