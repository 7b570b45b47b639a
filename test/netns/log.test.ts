/**
 * The log of a real daemon and its guardian. The configuration file and the terminal decide format and level, and a reload changes them.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Holdfast, holdfastConfig } from '../../src/lab/daemons/holdfast.ts'
import { createLab, HOLDFAST, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { describeNetns } from '../support/require.ts'

const WITHIN = 15_000
const TEXT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}([+-]\d\d:\d\d) (DEBUG|INFO |WARN |ERROR) \S/
/** Time zone with an offset of 5 h 45 min, without daylight saving time. A wrong offset is visible in any season. */
const ZONE = 'Asia/Kathmandu'

const command = (...argv: string[]) => {
  const { status, stdout, stderr } = spawnSync(HOLDFAST, argv, { encoding: 'utf8', timeout: 30_000 })
  return { status, lines: `${stdout}${stderr}`.trim().split('\n') }
}

describeNetns('the log of a daemon', () => {
  let lab: Lab
  beforeEach(() => {
    lab = createLab({ routers: 2 })
  })
  afterEach(() => lab.destroy())

  const plan = (position: number, priority = 200) => ({
    ...{ host: lab.router(position), priority, intervalMs: 500, address: LAB_VIP },
  })

  test('is text in local time if the configuration file says so, and the guardian writes the same format', async () => {
    const log = { log: { format: 'text' } }
    const daemon = new Holdfast(lab, plan(1), {}, [], log, ['env', `TZ=${ZONE}`])
    await daemon.process.line(
      /INFO {2}vip: Backup → Active: no other router was heard event=transition vrid=51 interface=eth0 /,
      WITHIN,
    )
    daemon.killEngine()
    await daemon.process.line(/ WARN {2}guardian: engine died: removed 1 VIP, sent .* plans=1 silent=0 /, WITHIN)
    await daemon.process.line(
      / ERROR guardian: engine killed by signal 9 \(SIGKILL\) event=engineKilled signal=9 core=false$/,
      WITHIN,
    )
    await daemon.exited
    for (const { text } of daemon.lines) {
      expect(text).toMatch(TEXT)
      expect(TEXT.exec(text)?.[1], `offset from UTC in ${text}`).toBe('+05:45')
    }
    const times = daemon.lines.map(({ text }) => Date.parse(text.split(' ')[0] ?? ''))
    expect(Math.max(...times) - Date.now(), 'ms by which the newest line is in the future').toBeLessThan(1_000)
    expect(Date.now() - Math.min(...times), 'ms since the time of the oldest line').toBeLessThan(60_000)
  })

  test('has another level and another format after a reload, without a restart', async () => {
    // A router in fault that receives the other router. The records of this router are the only ones below `info` that
    // the test can cause.
    const tracked = { track: [{ healthcheck: 'never' }] }
    const top = { healthchecks: [{ name: 'never', file: join(lab.directory, 'none'), interval: '100ms' }] }
    const daemon = new Holdfast(lab, plan(1), tracked, [], top)
    new Holdfast(lab, plan(2, 100))
    await daemon.process.line(/healthcheck never: first result: down/, WITHIN)
    const rewrite = (log: object) =>
      writeFileSync(daemon.file, holdfastConfig(daemon.plan, join(daemon.socket, '..'), tracked, { ...top, log }))
    const reload = (...options: string[]) => command('reload', '-s', daemon.socket, ...options)
    const ignored = /ignored an advertisement of 10\.77\.0\.12/
    expect(daemon.lines.filter(({ text }) => ignored.test(text) || !text.startsWith('{'))).toEqual([])

    rewrite({ level: 'debug' })
    const dry = reload('--dry-run')
    expect(dry.lines).toEqual([
      'log.level info → debug',
      expect.stringMatching(/would be reloaded .*1 router unchanged/),
    ])
    const real = reload()
    expect(real).toEqual({ status: 0, lines: ['log.level info → debug', expect.stringContaining(': reloaded (')] })
    await daemon.process.line(/"msg":"Reloaded .*: log\.level info → debug, 1 router unchanged"/, WITHIN)
    const debug = await daemon.process.line(ignored, WITHIN)
    expect(JSON.parse(debug.text)).toMatchObject({ level: 20, router: 'vip', peer: '10.77.0.12' })

    // The reload by signal also changes the format.
    rewrite({ level: 'info', format: 'journald' })
    daemon.process.signal('SIGHUP')
    const changed = 'log.level debug → info, log.format default → journald, 1 router unchanged'
    await daemon.process.line(new RegExp(`^<6>INFO {2}Reloaded .*: ${changed} `), WITHIN)
    const seen = daemon.lines.length
    // A reload with a wrong value changes nothing.
    rewrite({ level: 'loud' })
    const refused = reload()
    expect(refused.status).toBe(78)
    expect(refused.lines[0]).toMatch(
      /^\S+holdfast\.yaml:\d+:\d+: log\.level: cannot use "loud", expected trace, debug, info, /,
    )
    await daemon.process.line(/^<3>ERROR Cannot reload .*; the configuration in force is kept /, WITHIN)
    daemon.killEngine()
    await daemon.process.line(
      /^<3>ERROR guardian: engine killed by signal 9 \(SIGKILL\) event=engineKilled signal=9 core=false$/,
      WITHIN,
    )
    await daemon.exited
    expect(daemon.lines.slice(seen).filter(({ text }) => !/^<[346]>(ERROR|WARN |INFO ) \S/.test(text))).toEqual([])
  })

  test('has the format that a handed-over configuration names', async () => {
    const run = join(lab.directory, 'run')
    mkdirSync(run)
    const place = ['-c', join(lab.directory, 'managed.yaml'), '--run-directory', run, '--listen', 'false']
    const daemon = new LoggedProcess(lab, lab.router(1), [HOLDFAST, 'run', '--managed', ...place])
    await daemon.line(/^\{.*idle until a configuration is handed over/, WITHIN)
    const socket = join(run, 'holdfast.sock')
    const configure = (log: object) => {
      const file = join(lab.directory, 'handed.yaml')
      writeFileSync(file, holdfastConfig(plan(1), run, {}, { api: {}, log }))
      return command('configure', file, '--socket', socket)
    }
    await daemon.line(/"msg":"holdfast \S+ runs with 0 virtual routers"/, WITHIN)
    // The control socket opens when the worker thread has started.
    await expect.poll(() => configure({ format: 'text' }).status, { timeout: WITHIN }).toBe(0)
    await daemon.line(
      /^\d{4}-\S+ INFO {2}Configured by .*: router vip added, log\.format default → text, 0 routers unchanged /,
      WITHIN,
    )
    expect(configure({ level: 'error' }).lines.slice(0, 2)).toEqual([
      'log.level info → error',
      'log.format text → default',
    ])
    daemon.signalChild('SIGKILL')
    await daemon.line(/^\{"level":50,.*"name":"guardian","msg":"engine killed by signal 9/, WITHIN)
  })

  test('is text on a terminal, in color unless NO_COLOR is set', async () => {
    const onTerminal = (position: number, ...environment: string[]) => {
      const file = join(lab.directory, `${position}.yaml`)
      const directory = join(lab.directory, `run${position}`)
      mkdirSync(directory)
      writeFileSync(file, holdfastConfig(plan(position, 100), directory))
      // A pseudo-terminal is both standard output and standard error.
      const typed = ['env', 'TERM=xterm', ...environment, HOLDFAST, 'run', '-c', file].join(' ')
      return new LoggedProcess(lab, lab.router(position), ['script', '-qefc', typed, '/dev/null'])
    }
    const colored = onTerminal(1)
    const line = await colored.line(
      /^\d{4}-\S+ .\[32mINFO .\[0m vip: Initialize → Backup: it has started event=transition vrid=51 /,
      WITHIN,
    )
    expect(line.text.split('\u001b')).toHaveLength(3)
    const plain = onTerminal(2, 'NO_COLOR=1')
    await plain.line(/^\d{4}-\S+ INFO {2}vip: Initialize → Backup: it has started event=transition vrid=51 /, WITHIN)
  })
})
