/**
 * Least privilege as the kernel reports it: the daemon with only NET_ADMIN and NET_RAW, as root and as another user, and its worker thread
 * without any privilege. The last tests connect to the control socket as different users (docs/adr/0019).
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { convertCommand } from '../../src/cli/convert.ts'
import { reloadCommand } from '../../src/cli/reload.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { HOLDFAST, LAB_VIP } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'
import { labOfTest } from '../support/lab-of-test.ts'
import { describeNetns } from '../support/require.ts'

const NOBODY = 65_534
const OTHER = 4_711
const TWO = '-all,+net_admin,+net_raw'
const AS_ROOT = ['setpriv', '--bounding-set', TWO, '--inh-caps', '-all']
const AS_NOBODY = [
  ...['setpriv', '--reuid', `${NOBODY}`, '--regid', `${NOBODY}`, '--clear-groups'],
  ...['--bounding-set', TWO, '--inh-caps', TWO, '--ambient-caps', TWO],
]
/** Bits of CAP_NET_ADMIN and CAP_NET_RAW. */
const BOTH = 0x3000n
/** Interval in ms. The interval is long, so that a delay of a busy machine is not taken for a missing privilege. */
const INTERVAL_MS = 1_000
const SECOND_VIP = '10.77.0.101'

type Credentials = {
  readonly effective: bigint
  readonly permitted: bigint
  readonly ambient: bigint
  readonly noNewPrivs: boolean
}

function credentials(folder: string): Credentials {
  const status = readFileSync(`${folder}/status`, 'utf8')
  const field = (name: string) => BigInt(`0x${new RegExp(`^${name}:\\s*(\\w+)$`, 'm').exec(status)?.[1] ?? 'f'}`)
  return {
    effective: field('CapEff'),
    permitted: field('CapPrm'),
    ambient: field('CapAmb'),
    noNewPrivs: field('NoNewPrivs') === 1n,
  }
}

/** Returns the engine's main thread, the threads that cannot get a privilege, and all other threads. */
function threads(pid: number): { main: Credentials; bare: Credentials[]; others: Credentials[] } {
  const all = readdirSync(`/proc/${pid}/task`).map((id) => ({
    id: Number(id),
    ...credentials(`/proc/${pid}/task/${id}`),
  }))
  const main = all.find(({ id }) => id === pid)
  if (main === undefined) throw new Error(`Cannot find the main thread of ${pid}`)
  return {
    main,
    bare: all.filter(({ noNewPrivs }) => noNewPrivs),
    others: all.filter(({ id, noNewPrivs }) => id !== pid && !noNewPrivs),
  }
}

const engineOf = (daemon: Holdfast): number => daemon.process.children[0] ?? 0

function start(launcher: readonly string[], uid: number, top = {}) {
  const lab = labOfTest({ routers: 1 })
  const host = lab.router(1)
  // Without this mode, only root could enter the lab's folder.
  chmodSync(lab.directory, 0o755)
  const directory = join(lab.directory, `holdfast-${host.name}`)
  mkdirSync(directory)
  chownSync(directory, uid, uid)
  const plan = { host, priority: 200, intervalMs: INTERVAL_MS, address: LAB_VIP }
  const daemon = new Holdfast(lab, plan, {}, [], { api: { listen: '127.0.0.1:9655' }, ...top }, launcher)
  return { lab, host, daemon, directory }
}

const active = (daemon: Holdfast) => daemon.becomes('Active', 15_000)

function addVip(daemon: Holdfast): void {
  const text = readFileSync(daemon.file, 'utf8')
  writeFileSync(daemon.file, text.replace(`"${LAB_VIP}"`, `"${LAB_VIP}", "${SECOND_VIP}"`))
}

describeNetns('a daemon with only NET_ADMIN and NET_RAW', () => {
  test.each([
    ['root', AS_ROOT, 0],
    ['another user', AS_NOBODY, NOBODY],
  ] as const)(
    'as %s takes over, reloads, holds both VIPs, has its guardian, and logs no missing privilege',
    async (_, launcher, uid) => {
      const { lab, host, daemon } = start(launcher, uid)
      await active(daemon)
      expect(lab.holders(LAB_VIP)).toEqual(['r1'])
      await daemon.process.line(/Serving \/metrics/, 10_000)
      const shown = lab.exec(host, ['ip', '-json', 'address', 'show', 'to', LAB_VIP])
      expect(shown, 'lifetime of the VIP in the kernel').toMatch(/"valid_life_time":[1-4]\b/)
      const engine = engineOf(daemon)
      const { main, bare, others } = threads(engine)
      expect([main.permitted, main.effective], 'of the engine').toEqual([BOTH, BOTH])
      expect(bare, 'threads without any privilege, which is only the worker thread').toEqual([
        { effective: 0n, permitted: 0n, ambient: 0n, noNewPrivs: true, id: expect.any(Number) },
      ])
      expect(
        others.every(({ effective }) => effective === BOTH),
        'the threads of Node keep what the engine has',
      ).toBe(true)

      addVip(daemon)
      expect(await reloadCommand(daemon.socket, { json: false })).toMatchObject({ exitCode: 0 })
      await eventually('both VIPs', () => lab.holders(SECOND_VIP).length === 1, {
        sight: () => lab.addresses(host),
        within: 5_000,
      })
      const warnings = daemon.records.filter(({ level }) => level >= 40).map(({ msg }) => msg)
      expect(warnings).toEqual([])

      daemon.killEngine()
      await eventually('no VIP after the death of the engine', () => lab.holders(LAB_VIP).length === 0, {
        sight: () => lab.addresses(host),
        within: 5_000,
      })
      expect(lab.holders(SECOND_VIP)).toEqual([])
    },
  )

  test('ends with status 77 if one of the two is missing, and its line names the missing one', async () => {
    const launcher = ['setpriv', '--bounding-set', '-all,+net_admin', '--inh-caps', '-all']
    const { daemon } = start(launcher, 0)
    expect((await daemon.process.exited).code).toBe(77)
    expect(daemon.lines.map(({ text }) => text).join('\n')).toContain('Cannot run without CAP_NET_RAW')
  })
})

describeNetns('the worker thread of a daemon with every capability', () => {
  test('has no capability, and the engine keeps all of them', async () => {
    const { daemon } = start([], 0)
    await active(daemon)
    await daemon.process.line(/Serving \/metrics/, 10_000)
    const engine = engineOf(daemon)
    const { main, bare } = threads(engine)
    expect(bare).toHaveLength(1)
    expect(bare[0]).toMatchObject({ effective: 0n, permitted: 0n, ambient: 0n })
    expect(main.effective & BOTH).toBe(BOTH)
    expect(main.noNewPrivs).toBe(false)
  })

  test('cannot read a file by capability: a reload reads a file of root, and reports a file of another user', async () => {
    const { daemon, lab } = start([], 0)
    await active(daemon)
    const before = lab.addresses(lab.router(1))
    chmodSync(daemon.file, 0o600)
    addVip(daemon)
    expect(await reloadCommand(daemon.socket, { json: false })).toMatchObject({ exitCode: 0 })
    chownSync(daemon.file, OTHER, OTHER)
    const { exitCode, stderr } = await reloadCommand(daemon.socket, { json: false })
    expect(exitCode).toBe(78)
    expect(stderr).toContain(
      'Cannot read the configuration: permission denied: the user 0 must own it, or its mode must allow it (EACCES)',
    )
    expect(lab.addresses(lab.router(1))).toEqual(expect.arrayContaining(before))
  })

  test.each([
    [[], 0],
    [['--core'], NOBODY],
  ] as const)('run %s: the files of the engine in /proc belong to the user %s', async (options, owner) => {
    const lab = labOfTest({ routers: 1 })
    chmodSync(lab.directory, 0o755)
    const host = lab.router(1)
    const directory = join(lab.directory, `holdfast-${host.name}`)
    mkdirSync(directory)
    chownSync(directory, NOBODY, NOBODY)
    const plan = { host, priority: 200, intervalMs: INTERVAL_MS, address: LAB_VIP }
    const daemon = new Holdfast(lab, plan, {}, options, {}, AS_NOBODY)
    await active(daemon)
    const found = execFileSync('stat', ['-c', '%u', `/proc/${engineOf(daemon)}/environ`], { encoding: 'utf8' })
    expect(Number(found), 'user of /proc files of the engine, which is root if PR_SET_DUMPABLE is 0').toBe(owner)
  })
})

/** Returns the capabilities of this process in hexadecimal digits, which the output of a script must equal. */
const rightsHere = () => /^CapEff:\s*(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 'nothing'

const keepalivedFile = (program: string) => `
global_defs {
    enable_script_security
    script_user root
}
vrrp_script roots {
    script "/usr/sbin/chroot / /bin/true"
    interval 1
    timeout 10
    weight 20
}
vrrp_script rights {
    script "/bin/grep -q CapEff:.${rightsHere()} /proc/self/status"
    interval 1
    timeout 10
    weight 20
}
vrrp_instance vip {
    interface eth0
    virtual_router_id 51
    virtual_ipaddress {
        ${LAB_VIP}/32
    }
    track_script {
        roots
        rights
    }
    notify "${program}"
}
`

describeNetns('the scripts of a keepalived file', () => {
  test('have the capabilities of the daemon, as notification programs have, and with `none` instead of `keep` they have none', async () => {
    const own = labOfTest({ routers: 2 })
    chmodSync(own.directory, 0o755)
    const told = join(own.directory, 'told')
    const program = join(own.directory, 'notify')
    writeFileSync(program, `#!/bin/sh\ngrep ^CapEff /proc/self/status >> ${told}.$2\n`)
    chmodSync(program, 0o755)
    const file = join(own.directory, 'keepalived.conf')
    writeFileSync(file, keepalivedFile(program))

    // The daemon gets a /run of its own, because a keepalived file cannot name another folder.
    const first = ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs none /run && exec "$@"', 'sh']
    const kept = new LoggedProcess(own, own.router(1), [...first, HOLDFAST, 'run', '-f', file])
    const { stdout } = await convertCommand(file)
    const yaml = join(own.directory, 'without.yaml')
    expect(
      stdout.match(/capabilities: keep\n/g),
      'scripts and instances with capabilities: keep, which are two scripts and one instance',
    ).toHaveLength(3)
    const without = stdout.replaceAll('capabilities: keep', 'capabilities: none').replaceAll('name: vip', 'name: other')
    writeFileSync(yaml, `${without}runDirectory: ${own.directory}\n`)
    const bare = new LoggedProcess(own, own.router(2), [HOLDFAST, 'run', '-c', yaml])

    for (const name of ['roots', 'rights']) {
      await kept.line(new RegExp(`healthcheck ${name}: first result: up`), 20_000)
      await bare.line(new RegExp(`healthcheck ${name}: first result: down`), 20_000)
    }
    // The shell creates the file before grep writes into it.
    const isWritten = (path: string) => existsSync(path) && readFileSync(path, 'utf8').endsWith('\n')
    await eventually(
      'each node to be told of its first state',
      () => isWritten(`${told}.vip`) && isWritten(`${told}.other`),
      { sight: () => [...kept.lines.slice(-5), ...bare.lines.slice(-5)].map(({ text }) => text), within: 20_000 },
    )
    expect(readFileSync(`${told}.vip`, 'utf8').split('\n')[0]).toBe(`CapEff:\t${rightsHere()}`)
    expect(readFileSync(`${told}.other`, 'utf8').split('\n')[0]).toBe(`CapEff:\t${'0'.repeat(16)}`)
    const { bare: workers } = threads(kept.children[0] ?? 0)
    expect(workers, 'capabilities of the worker thread beside programs that keep theirs').toMatchObject([
      { effective: 0n, permitted: 0n, ambient: 0n },
    ])
  })
})

/** Creates files of root in a folder of root. Every user can write `open`, and only root can write `shut`. */
const openFile = (folder: string, name: string, vrid: number, security: boolean) => `
global_defs {
    script_user root
    ${security ? 'enable_script_security' : ''}
}
vrrp_script open {
    script "${folder}/open check"
    interval 1
    timeout 10
    weight 20
}
vrrp_script alone {
    script "${folder}/open alone"
    interval 1
    timeout 10
}
vrrp_script shut {
    script "${folder}/shut check"
    interval 1
    timeout 10
    weight 3
}
vrrp_instance ${name} {
    interface eth0
    virtual_router_id ${vrid}
    virtual_ipaddress {
        10.77.0.${vrid}/32
    }
    track_script {
        open
        alone
        shut
    }
    notify_master "${folder}/open told ${name}"
    notify "${folder}/shut told"
}
`

describeNetns('scripts of a keepalived file that others can change', () => {
  test('are left out with enable_script_security and run without it, as keepalived does', async () => {
    const own = labOfTest({ routers: 4 })
    const { directory } = own
    chmodSync(directory, 0o755)
    const script = (program: string, mode: number) => {
      const path = join(directory, program)
      writeFileSync(path, `#!/bin/sh\n[ $1 = told ] && echo "${program} $*" >> ${directory}/told\nexit 0\n`)
      chmodSync(path, mode)
    }
    script('open', 0o777)
    script('shut', 0o755)
    const processes = [
      { name: 'kSecure', security: true },
      { name: 'kPlain', security: false },
      { name: 'hSecure', security: true },
      { name: 'hPlain', security: false },
    ].map(({ name, security }, index) => {
      const file = join(directory, `${name}.conf`)
      writeFileSync(file, openFile(directory, name, 101 + index, security))
      const pids = ['--pid', join(directory, `${name}.pid`), '--vrrp_pid', join(directory, `${name}.vrrp`)]
      const keepalived = ['keepalived', '--vrrp', '--dont-fork', '--log-console', '--use-file', file, ...pids]
      const first = ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs none /run && exec "$@"', 'sh']
      const argv = name.startsWith('k') ? keepalived : [...first, HOLDFAST, 'run', '-f', file]
      return new LoggedProcess(own, own.router(index + 1), argv, { TMPDIR: directory })
    })
    const told = () => (existsSync(`${directory}/told`) ? readFileSync(`${directory}/told`, 'utf8').split('\n') : [])
    const ofTakeover = () => told().filter((line) => / MASTER |^open/.test(line))
    await eventually('four to be told that they are Active', () => ofTakeover().length >= 6, {
      sight: () => [...told(), ...processes.map(({ lines }) => lines.slice(-5).map(({ text }) => text))],
      within: 30_000,
    })
    const both = (who: string) => [
      `open told ${who}Plain`,
      `shut told INSTANCE ${who}Plain MASTER 123`,
      `shut told INSTANCE ${who}Secure MASTER 103`,
    ]
    expect(ofTakeover().sort(), 'programs and priorities of keepalived and holdfast at the takeover').toEqual(
      [...both('k'), ...both('h')].sort(),
    )
    const [, , secure, plain] = processes
    const said = (of: LoggedProcess | undefined, words: string) =>
      of?.lines
        .flatMap(({ text }) => /:\d+:\d+: warning: (.*)$/.exec(text.replaceAll('\\"', '"'))?.[1] ?? [])
        .filter((line) => line.startsWith(words))
    const why = `${directory}/open is writable for all users`
    const whom = ['for "open"', 'for "alone"', 'for notifications of']
    expect(said(secure, 'Skipped')).toEqual(
      whom.map((each) => expect.stringContaining(`Skipped ${directory}/open: ${why}, ${each}`)),
    )
    expect(said(plain, 'Runs')).toEqual(
      whom.map((each) => expect.stringContaining(`Runs ${directory}/open, although ${why}, ${each}`)),
    )
  })
})

describeNetns('the control socket of a daemon', () => {
  const HOLDFAST = join(import.meta.dirname, '..', '..', 'bin', 'holdfast')
  const as = (uid: number, ...argv: string[]) =>
    spawnSync('setpriv', ['--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups', HOLDFAST, ...argv], {
      encoding: 'utf8',
    })

  test('refuses and counts another user, even after a chmod of the socket, and the daemon goes on', async () => {
    const { daemon } = start([], 0)
    await active(daemon)
    await daemon.process.line(/Serving \/metrics/, 10_000)
    const shut = as(OTHER, 'stop', '-s', daemon.socket)
    expect([shut.status, shut.stderr]).toEqual([69, expect.stringContaining('EACCES')])
    expect((await daemon.snapshot())?.controlRefused).toBe(0)

    chmodSync(daemon.socket, 0o666)
    for (const command of [['stop'], ['reload'], ['yield', 'vip'], ['status']]) {
      const { status, stderr } = as(OTHER, ...command, '-s', daemon.socket)
      expect(status, `${command[0]}: ${stderr}`).not.toBe(0)
      expect(stderr).toContain('Only root and the user 0 have access')
    }
    const { controlRefused, routers } = await daemon.status()
    expect(controlRefused).toBeGreaterThanOrEqual(4)
    expect(routers[0]).toMatchObject({ state: 'Active', yieldingUntil: null })
    const told = daemon.records.filter(({ msg }) => msg.startsWith('Refused the user'))
    // On a busy machine, four requests may take longer than 10 s.
    const apart = told.slice(1).map(({ time }, i) => Number(time) - Number(told[i]?.time))
    expect(
      apart.filter((ms) => !(ms >= 9_900)),
      'one line in 10 s, however many came',
    ).toEqual([])
    expect(told.length, 'log lines about refused users').toBeGreaterThan(0)
    expect(told[0]).toMatchObject({
      level: 40,
      uid: OTHER,
      msg: expect.stringMatching(/^Refused the user 4711 \(pid \d+\) at the control socket$/),
    })
  })

  test('answers root and the user of the daemon', async () => {
    const { daemon } = start(AS_NOBODY, NOBODY)
    await active(daemon)
    const own = as(NOBODY, 'status', '-s', daemon.socket)
    expect([own.status, own.stderr]).toEqual([0, ''])
    chmodSync(daemon.socket, 0o666)
    const other = as(OTHER, 'status', '-s', daemon.socket)
    expect(other.stderr).toContain(`Only root and the user ${NOBODY} have access`)
  })
})

describeNetns('the lock of a network namespace', () => {
  test("is held by another user's process that binds its name: holdfast does not start, and names that user", async () => {
    const { lab, daemon: first, host } = start([], 0)
    await active(first)
    first.terminate()
    await first.process.exited
    const squat = "require('net').createServer().listen('\\0holdfast', () => console.log('taken'))"
    const squatter = new LoggedProcess(lab, host, [
      ...['setpriv', '--reuid', `${OTHER}`, '--regid', `${OTHER}`, '--clear-groups', 'node', '-e', squat],
    ])
    await squatter.line(/taken/, 10_000)
    const daemon = new Holdfast(lab, first.plan)
    const ended = await eventually('holdfast to end', () => daemon.process.exit, {
      sight: () => daemon.lines,
      within: 10_000,
    })
    expect(ended.code).toBe(1)
    expect(daemon.lines.map(({ text }) => text).join('\n')).toMatch(
      new RegExp(`it holds the socket @holdfast: pid \\d+, user ${OTHER}\\)`),
    )
  })
})

describe("the addon's drop of privileges in a worker thread", () => {
  const script = join(import.meta.dirname, '..', 'support', 'spawning-worker.mjs')
  const run = (mode: string): unknown => JSON.parse(execFileSync('node', [script, mode], { encoding: 'utf8' }))
  const ALL = { CapPrm: 'some', CapEff: 'some', CapBnd: 'some', raw: true }

  test.runIf(process.getuid?.() === 0)(
    'takes all capabilities from the thread and its children, and none from the main thread',
    () => {
      const NONE = {
        CapInh: 'none',
        CapPrm: 'none',
        CapEff: 'none',
        CapBnd: 'none',
        CapAmb: 'none',
        NoNewPrivs: 'some',
      }
      expect(run('drop')).toEqual({
        refused: 'EINVAL',
        main: expect.objectContaining({ ...ALL, NoNewPrivs: 'none' }),
        worker: { ...NONE, raw: 'EPERM' },
        child: NONE,
      })
      expect(run('keep'), 'capabilities in a worker thread that keeps its privileges').toMatchObject({
        worker: ALL,
        child: { CapEff: 'some', NoNewPrivs: 'none' },
      })
    },
  )
})
