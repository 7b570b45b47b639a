import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ExecSpec } from '../../../src/healthcheck/check.ts'
import { monotonicNow, type Probe } from '../../../src/healthcheck/probe.ts'
import { execProbe } from '../../../src/healthcheck/probes/exec.ts'
import { type LauncherAnswer, LauncherChannel } from '../../../src/healthcheck/programs/launcher-channel.ts'
import { userNamed } from '../../../src/healthcheck/programs/user.ts'
import { eventually, sleep } from '../../../src/lab/wait.ts'
import { NATIVE } from '../../../src/linux/native.ts'
import { judgeTime } from '../../judge/time.ts'
import { ask } from '../../support/check-spec.ts'
import { markedProcesses, programsOf } from '../../support/marked-processes.ts'
import { probePorts } from '../../support/probe-ports.ts'

const LAUNCHER = join(NATIVE, 'prebuilds', `linux-${process.arch}`, 'holdfast-launcher')
const isRoot = process.getuid?.() === 0

let folder = ''
let mark = ''
const probes: Probe[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hf-exec-'))
  chmodSync(folder, 0o755)
  mark = `HOLDFAST_TEST=${folder}`
})
afterEach(async () => {
  for (const each of probes.splice(0)) each.close?.()
  await eventually('launchers that end with their channels', () => marked().length === 0, { sight: marked })
  rmSync(folder, { recursive: true, force: true })
})

function script(text: string, mode = 0o755): string {
  const path = join(folder, 'check')
  writeFileSync(path, `#!/bin/sh\n${text}\n`)
  chmodSync(path, mode)
  return path
}

function probe(program: string, changes: Partial<ExecSpec> = {}): Probe {
  const environment = { HOLDFAST_TEST: folder, ...changes.environment }
  const made = execProbe({ kind: 'exec', argv: [program], user: undefined, ...changes, environment }, probePorts.launch)
  probes.push(made)
  return made
}

const marked = () => markedProcesses(mark)
const family = () => programsOf(mark)

describe('the result of a check program', () => {
  test.each([
    ['exit 0', 'ok', 'ok', 'ended with 0'],
    ['echo not ready >&2; exit 3', 'fail', 'exitStatus', 'ended with 3: not ready'],
    ['kill -SEGV $$', 'fail', 'killedBySignal', 'ended by SIGSEGV'],
  ])('%s: %s', async (text, outcome, reason, detail) => {
    const result = await ask(probe(script(text)))
    expect(result).toMatchObject({ outcome, reason })
    expect(result.detail).toContain(detail)
    expect(family()).toEqual([])
  })

  test('arguments reach the program unchanged, without a shell', async () => {
    const path = script('test "$1" = "a && exit 1; \\$HOME" && test "$#" = 1')
    expect((await ask(probe(path, { argv: [path, 'a && exit 1; $HOME'] }))).reason).toBe('ok')
  })

  test('its environment is PATH and the configured variables, and it has its own session and process group', async () => {
    process.env.HOLDFAST_SECRET = 'x'
    const path = script('env | cut -d= -f1 | sort | tr "\\n" " " >&2; exit 1')
    const { detail } = await ask(probe(path, { environment: { PORT: '6443' } }))
    delete process.env.HOLDFAST_SECRET
    expect(detail).toMatch(/: HOLDFAST_TEST PATH PORT PWD/)
    expect(detail).not.toContain('SECRET')
    expect((await ask(probe(script('test "$(cut -d" " -f5,6 /proc/$$/stat)" = "$$ $$"')))).reason).toBe('ok')
  })

  test('much output delays no other check, and the first words are kept', async () => {
    const path = script(
      'echo first; i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done; exit 1',
    )
    const { reason, detail } = await ask(probe(path))
    expect(reason).toBe('exitStatus')
    expect(detail).toContain('first')
    expect(detail.length).toBeLessThan(1_200)
  })

  test('a program with endless output is ended', async () => {
    const { reason, took } = await ask(probe('/usr/bin/yes'), 5_000)
    expect(reason).toBe('badAnswer')
    expect(took).toBeLessThan(3_000)
    expect(family()).toEqual([])
  })
})

describe('a program that does not end (VR-TRK-07)', () => {
  test('has the result `timeout` at its deadline, and gets SIGTERM', async () => {
    const path = script(`trap 'echo asked > ${folder}/asked; exit 0' TERM; echo waiting; sleep 60 & wait`)
    const abort = new AbortController()
    const run = probe(path).start(abort.signal)
    await eventually('a start', () => family().some(({ name }) => name === 'sleep'), { sight: family })
    const abortedAt = monotonicNow()
    abort.abort()
    const { outcome, reason, detail } = await run.result
    judgeTime('ms from deadline to result', monotonicNow() - abortedAt, 1_500, 'docs/healthchecks.md')
    expect({ outcome, reason }).toEqual({ outcome: 'fail', reason: 'timeout' })
    expect(detail).toContain('waiting')
    await run.ended
    expect(existsSync(join(folder, 'asked'))).toBe(true)
    expect(family()).toEqual([])
  })

  test('leaves no process, even if it ignores SIGTERM and forks grandchildren', async () => {
    const path = script(`trap '' TERM; for i in 1 2 3; do (trap '' TERM; sleep 61 & sleep 62) & done; sleep 63`)
    const abort = new AbortController()
    const run = probe(path).start(abort.signal)
    await eventually('the whole family', () => family().length >= 8, { sight: family })
    const abortedAt = monotonicNow()
    abort.abort()
    expect((await run.result).reason).toBe('timeout')
    // All processes of the program are killed 2 s after the deadline.
    judgeTime('ms from deadline to result', monotonicNow() - abortedAt, 1_500, 'docs/healthchecks.md')
    expect(family().length, 'processes that SIGTERM has not ended').toBeGreaterThan(0)
    await run.ended
    expect(monotonicNow() - abortedAt, 'ms from deadline to SIGKILL').toBeGreaterThanOrEqual(1_990)
    expect(family()).toEqual([])
  })

  test('leaves no process, even if its parent ends by SIGTERM and a grandchild ignores SIGTERM', async () => {
    const path = script(`(trap '' TERM; sleep 64) & sleep 65`)
    expect((await ask(probe(path), 200)).reason).toBe('timeout')
    expect(family()).toEqual([])
  })

  test('leaves no process, even if its children are forked twice into own sessions and ignore SIGTERM', async () => {
    const away = `setsid sh -c 'trap "" TERM; (setsid sh -c "trap \\"\\" TERM; sleep 71 & sleep 72" &) ; sleep 73'`
    const path = script(`trap '' TERM; ${away} & ${away} & sleep 74`)
    const abort = new AbortController()
    const run = probe(path).start(abort.signal)
    await eventually('the whole family', () => family().length >= 10, { sight: family })
    abort.abort()
    expect((await run.result).reason).toBe('timeout')
    await run.ended
    expect(family()).toEqual([])
  })

  test('a daemon that a check program starts ends with the program', async () => {
    const path = script(`setsid sh -c 'echo $$ > ${folder}/pid; sleep 75' & sleep 0.2; exit 0`)
    expect((await ask(probe(path))).reason).toBe('ok')
    expect(Number(readFileSync(join(folder, 'pid'), 'utf8'))).toBeGreaterThan(1)
    expect(family()).toEqual([])
  })

  test('if the other end of the channel closes, the launcher and all programs end', async () => {
    const gone = probe(script(`trap '' TERM; setsid sleep 76 & sleep 77`))
    void gone.start(new AbortController().signal)
    await eventually('a start', () => family().length >= 3, { sight: family })
    gone.close?.()
    await eventually('no process of the check', () => marked().length === 0, { sight: marked })
  })

  test('a killed launcher ends its program, and the next run has a new launcher', async () => {
    const again = probe(script(`test -e ${folder}/second && exit 0; touch ${folder}/second; exec sleep 78`))
    const run = again.start(new AbortController().signal)
    await eventually('a start', () => family().some(({ name }) => name === 'sleep'), { sight: family })
    for (const { pid, name } of marked()) if (name === 'holdfast-launch') process.kill(Number(pid), 'SIGKILL')
    expect(await run.result).toMatchObject({ outcome: 'unknown', reason: 'notPossible' })
    await run.ended
    expect((await ask(again)).reason).toBe('ok')
  })

  test.each(['SIGHUP', 'SIGINT', 'SIGUSR1', 'SIGUSR2'] as const)(
    '%s, sent to every process of the service, is not meant for a launcher',
    async (signal) => {
      const go = join(folder, 'go')
      const path = script(`trap '' HUP INT USR1 USR2; setsid sleep 79 & until [ -e ${go} ]; do sleep 0.02; done`)
      const run = probe(path).start(new AbortController().signal)
      await eventually('a start', () => family().some(({ name }) => name === 'sleep'), { sight: family })
      for (const { pid, name } of marked()) if (name === 'holdfast-launch') process.kill(Number(pid), signal)
      writeFileSync(go, '')
      expect((await run.result).reason).toBe('ok')
      await run.ended
      expect(family()).toEqual([])
    },
  )

  test('processes that a program leaves end with it, and do not delay the result', async () => {
    const path = script('sleep 66 & exit 0')
    const { reason, took } = await ask(probe(path), 5_000)
    expect(reason).toBe('ok')
    expect(took).toBeLessThan(2_000)
    expect(family()).toEqual([])
  })

  test.each([
    ['before', false],
    ['after', true],
  ])('when nobody wants the result it ends at once, %s its deadline', async (_, late) => {
    const abort = new AbortController()
    const run = probe(script("trap '' TERM; sleep 67")).start(abort.signal)
    await eventually('a start', () => family().length === 2, { sight: family })
    if (late) abort.abort()
    await sleep(20)
    const stoppedAt = monotonicNow()
    abort.abort()
    run.abandon?.()
    await run.ended
    expect(monotonicNow() - stoppedAt, 'ms from stop() until all processes have ended').toBeLessThan(1_500)
    expect(family()).toEqual([])
  })
})

test('if the disk does not answer, the result comes at the deadline', async () => {
  const path = script('exit 0')
  const channel = join(folder, 'fifo')
  spawnSync('mkfifo', [channel])
  // A FIFO without a writer blocks one thread of libuv. With all threads blocked, no request to any disk is answered.
  const held = Array.from({ length: 4 }, () => open(channel, 'r'))
  const abort = new AbortController()
  const run = probe(path).start(abort.signal)
  await sleep(100)
  abort.abort()
  const result = await Promise.race([run.result, sleep(1_000)])
  const writer = openSync(channel, constants.O_RDWR | constants.O_NONBLOCK)
  for (const file of await Promise.all(held)) await file.close()
  closeSync(writer)
  expect(result, 'result one second after the deadline').toMatchObject({ outcome: 'fail', reason: 'timeout' })
  await run.ended
  expect(family()).toEqual([])
})

describe('a check program that is not run', () => {
  test.each([
    ['writable by everybody', 0o777, 'scriptUnsafe', 'is writable for all users'],
    ['not executable', 0o644, 'notRunnable', 'EACCES'],
  ])('%s', async (_, mode, reason, words) => {
    const path = script(`touch ${folder}/ran`, mode)
    const result = await ask(probe(path))
    expect(result).toMatchObject({ outcome: 'fail', reason })
    expect(result.detail).toContain(words)
    expect(existsSync(join(folder, 'ran')), 'whether the program ran').toBe(false)
  })

  test('is one in a folder that every user may write to', async () => {
    const path = script('exit 0')
    chmodSync(folder, 0o777)
    expect(await ask(probe(path))).toMatchObject({ outcome: 'fail', reason: 'scriptUnsafe' })
    chmodSync(folder, 0o1777)
    expect((await ask(probe(path))).reason, 'result in a folder with the sticky bit, which is safe').toBe('ok')
  })

  test.each([
    ['/nonexistent/check', 'notRunnable'],
    ['check', 'scriptUnsafe'],
  ])('%s: %s', async (path, reason) => {
    expect(await ask(probe(path))).toMatchObject({ outcome: 'fail', reason })
  })

  test('is run with the option that allows it, or is no failure with the option that skips it', async () => {
    const path = script(`echo ran >> ${folder}/ran`, 0o777)
    expect(await ask(probe(path, { unsafe: 'skip' }))).toMatchObject({ outcome: 'unknown', reason: 'scriptUnsafe' })
    expect(existsSync(join(folder, 'ran')), 'whether the program ran').toBe(false)
    expect(await ask(probe(path, { unsafe: 'run' }))).toMatchObject({ outcome: 'ok' })
    expect(readFileSync(join(folder, 'ran'), 'utf8')).toBe('ran\n')
    chmodSync(path, 0o666)
    expect(await ask(probe(path, { unsafe: 'run' }))).toMatchObject({ outcome: 'fail', reason: 'notRunnable' })
  })

  test.skipIf(!isRoot)('belongs to another user, or is writable for another group', async () => {
    const path = script('exit 0')
    chownSync(path, 65_534, 0)
    expect((await ask(probe(path))).detail).toContain('belongs to user 65534')
    expect((await ask(probe(path, { user: '65534' }))).reason, 'its own user may own it').toBe('ok')
    chownSync(path, 0, 65_534)
    chmodSync(path, 0o775)
    expect((await ask(probe(path))).detail).toContain('is writable for group 65534')
    // stat() shows these mode bits for a file with an ACL for another user.
    chownSync(path, 0, 0)
    expect((await ask(probe(path))).detail).toContain('is writable for group 0')
  })

  test.skipIf(!isRoot)("is one behind a link in another user's folder, wherever the link leads", async () => {
    const theirs = join(folder, 'theirs')
    const link = join(theirs, 'check')
    mkdirSync(theirs)
    symlinkSync(script('exit 0'), link)
    expect((await ask(probe(link))).reason, 'a link of root in a folder of root').toBe('ok')
    lchownSync(link, 65_534, 0)
    expect((await ask(probe(link))).detail, 'detail for a link of another user').toContain(
      `${link} belongs to user 65534`,
    )
    chownSync(theirs, 65_534, 0)
    lchownSync(link, 0, 0)
    expect((await ask(probe(link))).detail, 'detail for a link in a folder of another user').toContain(
      `${theirs} belongs to user 65534`,
    )
    // The path leads through another link, in the other user's folder.
    const outer = join(folder, 'outer')
    symlinkSync('theirs/check', outer)
    expect((await ask(probe(outer))).detail, 'detail for a link that leads through a folder of another user').toContain(
      `${theirs} belongs to user 65534`,
    )
    expect((await ask(probe(join(theirs, '..', 'outer')))).reason).toBe('scriptUnsafe')
  })

  test('is one behind links that lead in a circle', async () => {
    const link = join(folder, 'circle')
    symlinkSync(link, link)
    expect(await ask(probe(link))).toMatchObject({ outcome: 'fail', reason: 'notRunnable' })
  })
})

describe('the user of a check program', () => {
  test('has no privileges, whichever user it is, and gets none from a file', async () => {
    const path = script('grep -E "^(Cap|NoNewPrivs)" /proc/self/status | tr -s "\\t\\n" " " >&2; exit 1')
    const { detail } = await ask(probe(path))
    expect(detail).toContain(
      'CapInh: 0000000000000000 CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 0000000000000000 CapAmb: 0000000000000000 NoNewPrivs: 1',
    )
  })

  const RIGHTS = 'grep -E "^(CapPrm|CapEff|CapBnd|NoNewPrivs)" /proc/self/status | tr -s "\\t\\n" " " >&2; exit 1'
  const ours = () => {
    const status = readFileSync('/proc/self/status', 'utf8')
    const lines = status.split('\n').filter((line) => /^(CapPrm|CapEff|CapBnd|NoNewPrivs)/.test(line))
    return lines.join(' ').replaceAll('\t', ' ')
  }

  test.skipIf(!isRoot).each([[undefined], ['root'], ['0']])(
    'user %s: with "keep" it has what we have',
    async (user) => {
      const { detail } = await ask(probe(script(RIGHTS), { user, capabilities: 'keep' }))
      expect(detail).toContain(ours())
    },
  )

  test.skipIf(!isRoot)(
    'without `keep`, another user has no capabilities beside programs that keep theirs',
    async () => {
      const { detail } = await ask(probe(script(RIGHTS), { user: 'nobody', capabilities: 'keep' }))
      expect(detail).toContain(
        'CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1',
      )
    },
  )

  test.skipIf(!isRoot).each([
    ['none', [], 0],
    ['its own', ['--user', '65534:65534'], 0],
    // Without protection, this program would get every capability of the bounding set by its exec.
    ['root', ['--user', '0:0'], 1],
  ] as const)('a daemon of another user, user %s: "keep" gives what that daemon has', async (_, user, noNewPrivs) => {
    const some = '-all,+net_admin,+setuid,+setgid'
    const daemon = ['--reuid=65534', '--regid=65534', '--clear-groups', `--inh-caps=${some}`, `--ambient-caps=${some}`]
    const argv = [...daemon, LAUNCHER, ...user, '--keep', '--program', '1', script(RIGHTS)]
    const child = spawn('setpriv', argv, { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
    const stream = child.stdio[3]
    if (!(stream instanceof Duplex)) throw new Error('no channel')
    const channel = new LauncherChannel(stream)
    const { output } = await new Promise<LauncherAnswer>((resolve) => {
      channel.onAnswer = (answer) => {
        if (answer.kind === 'ready') channel.run({ index: 0, number: undefined })
        else resolve(answer)
      }
    })
    channel.close()
    const right = '00000000000010c0'
    expect(output).toContain(`CapPrm: ${right} CapEff: ${right}`)
    expect(output).toContain(`NoNewPrivs: ${noNewPrivs}`)
  })

  test.skipIf(!isRoot)('is the configured user, with no other groups', async () => {
    const path = script('test "$(id -u) $(id -g) $(id -G)" = "65534 65534 65534" || { id >&2; exit 1; }')
    expect((await ask(probe(path, { user: 'nobody' }))).detail).toContain('ended with 0')
  })

  test('makes the check unknown if the user does not exist, and the reason names the user', async () => {
    const result = await ask(probe(script('exit 0'), { user: 'no-such-user' }))
    expect(result).toMatchObject({ outcome: 'unknown', reason: 'userNotPermitted' })
    expect(result.detail).toBe('User "no-such-user" does not exist on this node')
  })

  test.skipIf(!isRoot)(
    'makes the check unknown if the capability to change the user is missing, and the reason names the user',
    () => {
      const program = `
      const { runnerImport } = await import('vite')
      const load = async (file) => (await runnerImport(file, { configFile: false, logLevel: 'error' })).module
      const [exec, ports] = await Promise.all(process.argv.slice(1).map(load))
      const spec = { kind: 'exec', argv: ['/bin/true'], environment: {}, user: 'nobody' }
      const probe = exec.execProbe(spec, ports.probePorts.launch)
      console.log(JSON.stringify(await probe.start(new AbortController().signal).result))
    `
      const files = [
        join(import.meta.dirname, '../../../src/healthcheck/probes/exec.ts'),
        join(import.meta.dirname, '../../support/probe-ports.ts'),
      ]
      const node = [process.execPath, '--input-type=module', '-e', program, ...files]
      const without = ['--inh-caps=-all', '--bounding-set=-setuid,-setgid']
      const { stdout, stderr } = spawnSync('setpriv', [...without, ...node], { encoding: 'utf8' })
      expect(JSON.parse(stdout === '' ? `"${stderr}"` : stdout)).toMatchObject({
        outcome: 'unknown',
        reason: 'userNotPermitted',
        detail: 'Cannot run /bin/true as "nobody": CAP_SETUID and CAP_SETGID are missing',
      })
    },
  )

  test('is looked up by its name in the user database, and a number needs no lookup', async () => {
    const database = join(folder, 'passwd')
    writeFileSync(database, 'root:x:0:0::/root:/bin/sh\nweb:x:33:34::/:/bin/false\nbroken:x\n')
    expect(await userNamed('web', database)).toEqual({ uid: 33, gid: 34 })
    expect(await userNamed('33', database)).toEqual({ uid: 33, gid: 34 })
    expect(await userNamed('99', database)).toEqual({ uid: 99, gid: 99 })
    expect(await userNamed('broken', database)).toBe('missing')
    expect(await userNamed('5', join(folder, 'none'))).toEqual({ uid: 5, gid: 5 })
  })
})

test('a run whose deadline passed before its start starts no program', async () => {
  const abort = new AbortController()
  abort.abort()
  const run = probe(script(`touch ${folder}/ran`)).start(abort.signal)
  expect((await run.result).reason).toBe('timeout')
  await sleep(50)
  expect(existsSync(join(folder, 'ran'))).toBe(false)
})
