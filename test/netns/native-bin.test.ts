/**
 * bin/holdfast: which process it becomes, from anywhere and through links, and what it says when a part is missing. A
 * stand-in for Node prints what it was given.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { GUARDIAN } from './native-fixture.ts'

const BIN = join(import.meta.dirname, '..', '..', 'bin', 'holdfast')

describe('bin/holdfast', () => {
  let home = ''
  let link = ''
  let main = ''

  /** A package of its own, reached by a link to a link, with a blank in its path. */
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

  test('a command is Node itself', () => {
    const { stdout, status } = run(['status', '--json', 'a b'])
    const [process, ...args] = stdout.trim().split('\n')
    expect(process).not.toMatch(/holdfast-guardi|set/)
    expect(args).toEqual([main, 'status', '--json', 'a b'])
    expect(status).toBe(33)
  })

  test('run is the guardian with Node below it', () => {
    const { stdout, status } = run(['run', '-c', 'a b.yaml'])
    const [process, ...args] = stdout.trim().split('\n')
    expect(process).toBe('holdfast-guardi|set|0|1')
    expect(args).toEqual(['--max-semi-space-size=1', main, 'run', '-c', 'a b.yaml'])
    expect(status).toBe(33)
  })

  const root = process.getuid?.() === 0
  test.skipIf(!root && process.env.REQUIRE_NETNS !== '1').each([
    [['run', '--realtime'], '2'],
    [['run', '--realtime=30'], '2'],
    [['run', '--realtime', '30', '-c', 'x'], '2'],
    [['run', '-c', '--realtime'], '0'],
    [['run'], '0'],
  ])('%j: scheduling policy %s', (args, policy) => {
    const { stdout, stderr } = run(args)
    const [process, , , ...rest] = stdout.trim().split('\n')
    expect(stderr).toBe('')
    expect(process?.split('|')[2]).toBe(policy)
    expect(rest).toEqual(args)
  })

  test('--core is the guardian’s too', () => {
    expect(run(['run', '--core']).stdout.split('\n')[0]).not.toMatch(/\|1$/)
  })

  test('no Node is one clear line', () => {
    const { status, stderr, stdout } = run(['status'], '/no/such/node')
    expect(status).toBe(1)
    expect(stderr).toMatch(/^holdfast: Node\.js 20\.19 or newer is needed.*\n$/)
    expect(stdout).toBe('')
  })

  test('no build, and no guardian for this machine, are one clear line', () => {
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
