/**
 * bin/holdfast: the process that the script becomes, from any folder and through links, and the messages if a part is missing. A stand-in
 * for Node prints its arguments.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { ServiceManager } from '../support/service-manager.ts'
import { GUARDIAN } from './native-fixture.ts'

const BIN = join(import.meta.dirname, '..', '..', 'bin', 'holdfast')

/** Program text of an engine that handles the signals and does nothing else. */
const HANDLES_SIGNALS = "for (const s of ['SIGHUP', 'SIGUSR1', 'SIGUSR2']) process.on(s, () => console.log(s))"
/** Program text that sends READY, which is kind 6 of native/guardian/message.h. */
const SAYS_READY =
  "require('fs').writeSync(+process.env.HOLDFAST_GUARDIAN_FD, Buffer.from('010600000000000000000000', 'hex'))"

const named = (pid: number): string => readFileSync(`/proc/${pid}/comm`, 'utf8').trim()

describe('bin/holdfast', () => {
  let home = ''
  let link = ''
  let main = ''

  /** Creates a package that is reached by a link to a link, with a space in its path. */
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'holdfast bin-'))
    const prebuilds = join(home, 'package', 'native', 'prebuilds', `linux-${process.arch}`)
    for (const folder of [join(home, 'package', 'bin'), join(home, 'package', 'dist', 'bundle'), prebuilds])
      mkdirSync(folder, { recursive: true })
    copyFileSync(BIN, join(home, 'package', 'bin', 'holdfast'))
    copyFileSync(GUARDIAN, join(prebuilds, 'holdfast-guardian'))
    main = join(home, 'package', 'dist', 'bundle', 'main.js')
    writeFileSync(main, '')
    symlinkSync('package/bin/holdfast', join(home, 'first'))
    link = join(home, 'second')
    symlinkSync(join(home, 'first'), link)
  })
  afterAll(() => rmSync(home, { recursive: true, force: true }))

  function standIn(): string {
    const path = join(home, 'node')
    const parent = `$(cat "/proc/$PPID/comm")`
    const policy = `$(cut -d' ' -f41 /proc/$$/stat)`
    const core = `$(grep 'core file size' /proc/$$/limits | tr -s ' ' | cut -d' ' -f5)`
    const script = [
      '#!/bin/sh',
      `echo "${parent}|\${HOLDFAST_GUARDIAN_FD+set}|${policy}|${core}"`,
      `printf '%s\\n' "$@"`,
      'exit 33',
      '',
    ]
    writeFileSync(path, script.join('\n'))
    chmodSync(path, 0o755)
    return path
  }

  const run = (args: readonly string[], node: string = standIn()) =>
    spawnSync(link, args, { encoding: 'utf8', cwd: '/', env: { ...process.env, HOLDFAST_NODE: node } })

  test('for a command, bin/holdfast becomes the Node process', () => {
    const { stdout, status } = run(['status', '--json', 'a b'])
    const [process, ...args] = stdout.trim().split('\n')
    expect(process).not.toMatch(/holdfast-guardi|set/)
    expect(args).toEqual([main, 'status', '--json', 'a b'])
    expect(status).toBe(33)
  })

  test('for run, bin/holdfast becomes the guardian with Node as its child', () => {
    const { stdout, status } = run(['run', '-c', 'a b.yaml'])
    const [process, ...args] = stdout.trim().split('\n')
    expect(process).toBe('holdfast-guardi|set|0|1')
    expect(args).toEqual(['--max-semi-space-size=1', main, 'run', '-c', 'a b.yaml'])
    expect(status).toBe(33)
  })

  describe('under the name keepalived', () => {
    let keepalived = ''
    beforeAll(() => {
      keepalived = join(home, 'keepalived')
      symlinkSync(link, keepalived)
    })
    const start = (args: readonly string[]) => {
      const env = { ...process.env, HOLDFAST_NODE: standIn() }
      const { stdout, status } = spawnSync(keepalived, args, { encoding: 'utf8', cwd: '/', env })
      const [parent, ...given] = stdout.trim().split('\n')
      return { parent, given, status }
    }

    test.each([
      [['-f', '/etc/keepalived/keepalived.conf', '--dont-fork', '--vrrp', '--log-detail', '--log-console'], '1'],
      [['-nPDlf', 'x'], '1'],
      [['-nm'], 'unlimited'],
      [['-f', '-t', '-n'], '1'],
      [['-n', '--pid', '--version'], '1'],
      // In the background, the first process ends with the engine's exit status if the engine ends before it is ready.
      [['-f', 'x'], '1'],
      [['-D', '--use-file=-n'], '1'],
    ])('%j makes the guardian take the name and pass on the status', (args, core) => {
      const { parent, given, status } = start(args)
      expect(parent).toMatch(new RegExp(`^keepalived\\|set\\|0\\|${core === '1' ? '1$' : ''}`))
      expect([given, status]).toEqual([['--max-semi-space-size=1', main, 'keepalived', ...args], 33])
    })

    test.each([[['-t']], [['-ntx']], [['--config-test=x', '-f', 'y']], [['-v']], [['--signum=DATA']], [['-nh']]])(
      '%j: an answer needs no guardian',
      (args) => {
        const { parent, given, status } = start(args)
        expect(parent).not.toMatch(/\|set\|/)
        expect([given, status]).toEqual([[main, 'keepalived', ...args], 33])
      },
    )

    test.each(['path', 'abstract'] as const)(
      'a service manager receives READY=1 when the engine says that it is ready: %s name',
      async (kind) => {
        const manager = await ServiceManager.listening(home, kind)
        const engine = `const { NOTIFY_SOCKET, WATCHDOG_USEC, HOLDFAST_SERVICE_MANAGER } = process.env
        ${HANDLES_SIGNALS}
        console.log(JSON.stringify([NOTIFY_SOCKET, WATCHDOG_USEC, HOLDFAST_SERVICE_MANAGER]))
        process.stdin.once('data', () => { ${SAYS_READY} })
        setTimeout(() => {}, 60_000)`
        const guardian = spawn(GUARDIAN, ['--', process.execPath, '-e', engine], {
          env: { ...process.env, ...manager.environment, WATCHDOG_USEC: '200000' },
        })
        const said: string[] = []
        guardian.stdout.on('data', (text) => said.push(String(text).trim()))
        await eventually('the engine', () => said.length > 0, { sight: () => said, within: 10_000 })
        await sleep(300)
        expect([said, manager.words], 'it handles signals, and has not said READY').toEqual([['[null,null,"1"]'], []])
        guardian.stdin.write('\n')
        await manager.hears('READY=1')
        process.kill(guardian.pid ?? 0, 'SIGTERM')
        await new Promise((resolve) => guardian.once('close', resolve))
        manager.close()
        expect(manager.words, 'messages to the service manager about an engine that sends no beats').toEqual([
          'READY=1',
        ])
      },
    )

    test('a signal that comes before the engine is ready waits, and a real-time signal is ignored', async () => {
      const engine = `setTimeout(() => { ${HANDLES_SIGNALS}; console.log('handles signals') }, 200)
      setTimeout(() => { console.log('ready'); ${SAYS_READY} }, 600)
      setTimeout(() => {}, 60_000)`
      const guardian = spawn(GUARDIAN, ['--name=keepalived', '--', process.execPath, '-e', engine])
      const said: string[] = []
      const complaints: string[] = []
      guardian.stdout.on('data', (text) => said.push(...String(text).trim().split('\n')))
      guardian.stderr.on('data', (text) => complaints.push(String(text)))
      const ended = new Promise((resolve) => guardian.once('close', (code) => resolve(code)))
      const pid = guardian.pid ?? 0
      await eventually('its name', () => named(pid) === 'keepalived', { sight: () => named(pid), within: 5_000 })
      for (const signal of ['SIGUSR1', 'SIGHUP', 'SIGHUP'] as const) process.kill(pid, signal)
      process.kill(pid, 36)
      await eventually('both signals', () => said.length === 4, { sight: () => [said, complaints], within: 20_000 })
      expect([said.slice(0, 2), said.slice(2).sort()]).toEqual([
        ['handles signals', 'ready'],
        ['SIGHUP', 'SIGUSR1'],
      ])
      expect(complaints.join()).toContain('ignored a real-time signal')
      process.kill(pid, 'SIGTERM')
      expect(await ended).toBe(128 + 15)
    })

    test('with --background the started process ends with 0 when the engine is ready', async () => {
      // SIGTERM, which is never held, makes the engine report that it is ready.
      const engine = `${HANDLES_SIGNALS}; process.on('SIGTERM', () => { ${SAYS_READY} })
      console.log(process.pid); setTimeout(() => {}, 60_000)`
      const starter = spawn(GUARDIAN, ['--background', '--', process.execPath, '-e', engine])
      const ended = new Promise((resolve) => starter.once('exit', resolve))
      const pid = Number(await new Promise((resolve) => starter.stdout.once('data', resolve)))
      try {
        await sleep(300)
        expect(starter.exitCode, 'exit of the started process while the engine has not sent READY').toBe(null)
        starter.kill('SIGTERM')
        expect(await Promise.race([ended, sleep(5_000).then(() => 'still waiting')])).toBe(0)
      } finally {
        process.kill(pid, 'SIGKILL')
      }
    })
  })

  const root = process.getuid?.() === 0
  test.skipIf(!root && process.env.REQUIRE_NETNS !== '1').each([
    [['run', '--realtime'], '2'],
    [['run', '--realtime=30'], '2'],
    [['run', '--realtime', '30', '-c', 'x'], '2'],
    [['run', '-c', '--realtime'], '0'],
    [['run'], '0'],
  ])('%j sets the scheduling policy %s', (args, policy) => {
    const { stdout, stderr } = run(args)
    const [process, , , ...rest] = stdout.trim().split('\n')
    expect(stderr).toBe('')
    expect(process?.split('|')[2]).toBe(policy)
    expect(rest).toEqual(args)
  })

  test('--core also applies to the guardian', () => {
    expect(run(['run', '--core']).stdout.split('\n')[0]).not.toMatch(/\|1$/)
  })

  test('without Node, bin/holdfast prints one line with the reason', () => {
    const { status, stderr, stdout } = run(['status'], '/no/such/node')
    expect(status).toBe(1)
    expect(stderr).toMatch(/^holdfast: Node\.js 20\.19 or newer is needed.*\n$/)
    expect(stdout).toBe('')
  })

  test('without a build, or without a guardian for this machine, bin/holdfast prints one line with the reason', () => {
    const copy = join(home, 'bare')
    mkdirSync(join(copy, 'bin'), { recursive: true })
    copyFileSync(BIN, join(copy, 'bin', 'holdfast'))
    const bare = () =>
      spawnSync(join(copy, 'bin', 'holdfast'), ['run'], {
        encoding: 'utf8',
        env: { ...process.env, HOLDFAST_NODE: standIn() },
      })
    expect(bare()).toMatchObject({ status: 1, stderr: expect.stringMatching(/^holdfast: .*main\.js is missing.*\n$/) })
    mkdirSync(join(copy, 'dist', 'bundle'), { recursive: true })
    writeFileSync(join(copy, 'dist', 'bundle', 'main.js'), '')
    expect(bare()).toMatchObject({ status: 1, stderr: expect.stringMatching(/^holdfast: no guardian for linux-.*\n$/) })
  })
})
