/**
 * The command line as an operator uses it: bin/holdfast in a shell, its exit statuses and its output, started from any directory. The test
 * reads the daemon's state through its sockets only.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Snapshot } from '../../src/daemon/telemetry/snapshot.ts'
import { Holdfast, holdfastConfig } from '../../src/lab/daemons/holdfast.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { createLab, HOLDFAST, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { describeNetns } from '../support/require.ts'

const COMMANDS = ['run', 'check', 'status', 'yield', 'reload', 'stop', 'capture', 'demo', 'schema']
const BAD = `virtualRouters:
  - name: api
    vrid: 300
    interface: eth0
    addresses: [10.77.0.300]
    prioritty: 20
  - { name: api, vrid: 2, interface: eth0, addresses: [10.77.0.101], advertisementInterval: 3 }
`

type Result = { readonly status: number | null; readonly stdout: string; readonly stderr: string }

let directory = ''
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'hf-cli-'))
  writeFileSync(join(directory, 'bad.yaml'), BAD)
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

function holdfast(argv: readonly string[], command: readonly string[] = [HOLDFAST], cwd = directory): Result {
  const [file = '', ...rest] = [...command, ...argv]
  const { status, stdout, stderr } = spawnSync(file, rest, { cwd, encoding: 'utf8', timeout: 20_000 })
  return { status, stdout, stderr }
}

describe('options and commands of holdfast', () => {
  test.each([
    [['bogus'], 'bogus'],
    [['run', '--bogus'], '--bogus'],
    [['status', 'x', 'y'], 'too many arguments'],
    [['check'], 'file'],
    [[], 'Usage'],
  ])('holdfast %j: exit 64, says what is wrong and where help is', (argv, word) => {
    const { status, stdout, stderr } = holdfast(argv)
    expect([status, stdout]).toEqual([64, ''])
    expect(stderr).toContain(word)
    expect(stderr).not.toMatch(/\n\s+at /)
  })

  test.each(COMMANDS)('holdfast %s --help ends with exit status 0', (command) => {
    const { status, stdout, stderr } = holdfast([command, '--help'])
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`Usage: holdfast ${command}`)
  })

  test('holdfast --help names every command and every exit status', () => {
    const { status, stdout } = holdfast(['--help'])
    expect(status).toBe(0)
    for (const word of [...COMMANDS, '64', '69', '77', '78']) expect(stdout).toContain(word)
  })

  test('bin/holdfast starts from another directory, through a symbolic link and under another name', () => {
    const other = join(directory, 'elsewhere')
    mkdirSync(other, { recursive: true })
    symlinkSync(HOLDFAST, join(other, 'first'))
    symlinkSync('first', join(other, 'hf'))
    const version = holdfast(['--version'], ['./hf'], other)
    expect([version.status, version.stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)])
    const byPath = spawnSync('sh', ['-c', 'hf --version'], { cwd: '/', env: { PATH: `${other}:${process.env.PATH}` } })
    expect(byPath.stdout.toString()).toBe(version.stdout)
    const checked = holdfast(['check', '../bad.yaml'], ['./hf'], other)
    expect([checked.status, checked.stderr.split(':', 1)]).toEqual([78, ['../bad.yaml']])
  })
})

describe('output that is larger than a pipe', () => {
  const events = Array.from({ length: 2_000 }, (_, i) => ({
    ...{ seq: i + 1, at: '2026-11-22T10:00:00.000Z', monotonicMs: i, kind: 'stopOrdered', trigger: 'SIGTERM' },
  }))
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'hf-output-'))
    writeFileSync(join(folder, 'events.jsonl'), events.map((event) => `${JSON.stringify(event)}\n`).join(''))
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  const through = (reader: string) =>
    spawnSync('sh', ['-c', `${HOLDFAST} events --json --file events.jsonl --socket ./none | { ${reader}; }`], {
      ...{ cwd: folder, encoding: 'utf8', timeout: 20_000, maxBuffer: 1 << 24 },
    })

  test('a slow reader gets the whole output', () => {
    expect(through('sleep 1; cat').stdout.trimEnd().split('\n')).toHaveLength(events.length)
  })

  test('the command ends without an error message if the reader closes the pipe', () => {
    const { stdout, stderr } = through('head -n 1')
    expect(stdout.trimEnd().split('\n')).toHaveLength(1)
    expect(stderr).not.toMatch(/EPIPE|node:|holdfast: (?!Cannot reach)/)
  })
})

describe('missing files and daemons', () => {
  test.each([['check'], ['run', '-c']])(
    'holdfast %s with a missing file prints one line and ends with exit status 78',
    (...words) => {
      const file = join(directory, 'missing.yaml')
      const { status, stdout, stderr } = holdfast([...words, file])
      expect([status, stdout]).toEqual([78, ''])
      expect(stderr).toBe(`${file}: Cannot read the configuration: there is no such file (ENOENT)\n`)
    },
  )

  test('holdfast status without a daemon prints one line and ends with exit status 69', () => {
    const socket = join(directory, 'none.sock')
    const { status, stdout, stderr } = holdfast(['status', '--socket', socket])
    expect([status, stdout]).toEqual([69, ''])
    expect(stderr).toMatch(/^holdfast: Cannot reach the daemon at [^\n]*none\.sock: [^\n]*\n$/)
  })

  test.each([['check'], ['run', '-c']])(
    'holdfast %s with a wrong file prints all problems together and ends with exit status 78',
    (...words) => {
      const file = join(directory, 'bad.yaml')
      const { status, stdout, stderr } = holdfast([...words, file])
      expect([status, stdout]).toEqual([78, ''])
      const lines = stderr.trim().split('\n')
      for (const place of ['3:', '5:', '6:', '7:']) {
        expect(
          lines.some((text) => text.startsWith(`${file}:${place}`)),
          `a problem in line ${place} of\n${stderr}`,
        ).toBe(true)
      }
    },
  )
})

test('without its native addon, holdfast prints one line and ends with exit status 1', () => {
  const copy = join(directory, 'package')
  mkdirSync(join(copy, 'native'), { recursive: true })
  for (const part of ['bin', 'dist', 'package.json'])
    cpSync(join(packageRoot(), part), join(copy, part), { recursive: true })
  symlinkSync(join(packageRoot(), 'node_modules'), join(copy, 'node_modules'))
  const file = join(directory, 'good.yaml')
  writeFileSync(file, 'virtualRouters:\n  - { name: a, vrid: 1, interface: eth0, addresses: [10.77.0.100] }\n')
  const node = holdfast(['check', '--node', file], [join(copy, 'bin', 'holdfast')])
  expect([node.status, node.stdout]).toEqual([1, ''])
  expect(node.stderr).toMatch(/^holdfast: Cannot load the native addon [^\n]*\n$/)
  const run = holdfast(['run', '-c', file], [join(copy, 'bin', 'holdfast')])
  expect([run.status, run.stderr]).toEqual([1, expect.stringMatching(/^holdfast: no guardian [^\n]*\n$/)])
})

describeNetns('holdfast run', () => {
  let lab: Lab
  beforeAll(() => {
    lab = createLab({ routers: 1 })
  })
  afterAll(() => lab.destroy())

  const plan = () => ({ host: lab.router(1), priority: 100, intervalMs: 100, address: LAB_VIP })

  function configFile(name: string, extra: Readonly<Record<string, unknown>> = {}): string {
    const file = join(lab.directory, `${name}.yaml`)
    const config: Record<string, unknown> = JSON.parse(holdfastConfig(plan(), join(lab.directory, name)))
    writeFileSync(file, JSON.stringify({ ...config, ...extra }))
    return file
  }

  /** Returns the command that runs bin/holdfast on the router, after the given words. */
  const onRouter = (...words: readonly string[]) => lab.commandOn(lab.router(1), [...words, HOLDFAST])

  async function running(): Promise<Holdfast> {
    const daemon = new Holdfast(lab, plan())
    await daemon.ready()
    await daemon.becomes('Active', 5_000)
    return daemon
  }

  test.each([
    ['CAP_NET_RAW', ['-net_raw']],
    ['CAP_NET_ADMIN', ['-net_admin']],
    ['CAP_NET_ADMIN and CAP_NET_RAW', ['-net_admin,-net_raw']],
  ])('without %s: one line that names it, exit 77, nothing touched', (name, [drop = '']) => {
    const file = configFile('capability')
    const dropped = onRouter('setpriv', `--bounding-set=${drop}`, '--')
    const { status, stdout, stderr } = holdfast(['run', '-c', file], dropped)
    expect([status, stdout]).toEqual([77, ''])
    expect(stderr).toMatch(new RegExp(`^holdfast: [^\\n]*without ${name}:[^\\n]*\\n$`))
    expect(lab.holders(LAB_VIP)).toEqual([])
  })

  test('a user without root rights gets exit status 77 and the names of the missing capabilities', () => {
    const open = join(directory, 'open.yaml')
    writeFileSync(open, holdfastConfig(plan(), '/nowhere'), { mode: 0o644 })
    execFileSync('chmod', ['755', directory])
    const nobody = onRouter('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--')
    const { status, stderr } = holdfast(['run', '-c', open], nobody)
    expect([status, stderr]).toEqual([77, expect.stringContaining('CAP_NET_ADMIN and CAP_NET_RAW')])
  })

  test('if an interface is missing, the daemon runs in fault and logs one line about it', async () => {
    const daemon = new Holdfast(lab, plan(), { interface: 'eth7' })
    await eventually(
      'the daemon to say that it waits for eth7',
      async () => (await daemon.snapshot())?.routers[0]?.faults.includes('interfaceMissing') ?? false,
      { sight: () => daemon.lines, within: 5_000 },
    )
    await eventually(
      'a line that names eth7',
      () => daemon.records.some(({ level, msg }) => level >= 40 && msg.includes('"eth7"')),
      { sight: () => daemon.lines, within: 5_000 },
    )
    const at = daemon.terminate()
    expect((await daemon.exited).code, `exit status ${monotonicMs() - at} ms after SIGTERM`).toBe(0)
  })

  test('a second daemon does not start, and the first one stays Active', async () => {
    const daemon = await running()
    const { status, stderr } = holdfast(['run', '-c', join(lab.directory, 'holdfast-r1', 'holdfast.yaml')], onRouter())
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^holdfast: Cannot run: another daemon[^\n]*\n$/)])
    expect([await daemon.state(), lab.holders(LAB_VIP)]).toEqual(['Active', ['r1']])
    const { status: asked, stdout } = holdfast(['status', '-s', daemon.socket])
    expect([asked, stdout]).toEqual([0, expect.stringContaining(`${LAB_VIP} (here)`)])
    daemon.terminate()
    expect((await daemon.exited).code).toBe(0)
    expect([lab.holders(LAB_VIP), existsSync(daemon.socket)]).toEqual([[], false])
  })

  test('of two daemons that start together, exactly one runs', async () => {
    const files = ['first', 'second'].map((name) => configFile(name))
    for (let round = 1; round <= 8; round++) {
      const both = files.map((file) => new LoggedProcess(lab, lab.router(1), [HOLDFAST, 'run', '-c', file]))
      const said = () => both.map(({ exit, lines }) => ({ exit, lines: lines.slice(-3).map(({ text }) => text) }))
      await eventually(`round ${round}: the VIP to be held`, () => lab.holders(LAB_VIP).length === 1, {
        sight: said,
        within: 5_000,
      })
      await eventually(`round ${round}: one of them to have left`, () => both.some(({ exit }) => exit), {
        sight: said,
        within: 5_000,
      })
      const stayed = both.filter(({ exit }) => exit === undefined)
      const refused = both.find(({ exit }) => exit !== undefined)
      expect([refused?.exit?.code, refused?.lines.map(({ text }) => text), stayed.length], `round ${round}`).toEqual([
        1,
        [expect.stringMatching(/^holdfast: Cannot run: another daemon already runs in this network namespace/)],
        1,
      ])
      for (const daemon of stayed) {
        daemon.signal('SIGTERM')
        expect((await daemon.exited).code, `exit status after SIGTERM in start ${round}`).toBe(0)
      }
      expect(lab.holders(LAB_VIP), `holders after SIGTERM in start ${round}`).toEqual([])
    }
  })

  test('the channel to the guardian has the highest file descriptor of the engine, and no child process inherits it', async () => {
    const daemon = await running()
    const [engine = 0] = daemon.process.children
    const numbers = readdirSync(`/proc/${engine}/fd`).map(Number)
    // The kernel closes the descriptors of a dead process from the last to the first. An eventfd closes immediately.
    const last = Math.max(...numbers.filter((n) => !readlinkSync(`/proc/${engine}/fd/${n}`).includes('[eventfd]')))
    expect([last, readlinkSync(`/proc/${engine}/fd/${last}`)], `of ${numbers}`).toEqual([
      1023,
      expect.stringMatching(/^socket:/),
    ])
    const flags = /flags:\t0*(\d+)/.exec(readFileSync(`/proc/${engine}/fdinfo/${last}`, 'utf8'))?.[1] ?? ''
    // O_CLOEXEC is 02000000.
    expect(Number.parseInt(flags, 8) & 0o2000000, `flags ${flags}`).not.toBe(0)
    daemon.terminate()
    await daemon.process.exited
  })

  test('a daemon whose guardian dies logs the death once, and leaves', async () => {
    const daemon = await running()
    expect((await daemon.snapshot())?.guardian, 'guardian in the status before its death').toBe('guarded')
    const [engine = 0] = daemon.process.children
    const at = daemon.process.signal('SIGKILL')
    const lines = () =>
      daemon.records.filter(({ level, msg }) => level === 50 && msg.startsWith('Guardian died; shutting down'))
    await eventually('one line in the log', () => lines().length === 1, { sight: lines, within: 3_000 })
    expect(monotonicMs() - at, 'ms from the death of the guardian to the log line').toBeLessThan(1_000)
    await eventually('the engine to be gone', () => !existsSync(`/proc/${engine}`), {
      sight: () => daemon.lines.slice(-3),
      within: 5_000,
    })
    expect([lab.holders(LAB_VIP), lines().length]).toEqual([[], 1])
  })

  test('a daemon with a full log pipe that no process reads still leaves, and its addresses are removed', async () => {
    const fifo = join(lab.directory, 'log')
    execFileSync('mkfifo', [fifo])
    const holder = new LoggedProcess(lab, lab.router(1), ['sh', '-c', `exec sleep 60 <${fifo}`])
    const file = configFile('unread')
    const daemon = new LoggedProcess(lab, lab.router(1), ['sh', '-c', `exec ${HOLDFAST} run -c ${file} >${fifo}`])
    const status = () => {
      const { stdout } = holdfast(['status', '--json', '-s', join(lab.directory, 'unread', 'holdfast.sock')])
      const snapshot: Snapshot | undefined = stdout === '' ? undefined : JSON.parse(stdout)
      return snapshot
    }
    await eventually('the daemon to answer', () => status() !== undefined, { sight: status, within: 5_000 })
    // The fault and its end cause one line of about 200 bytes each. Together the lines are more than the 64 KiB of a pipe.
    for (let i = 0; i < 500; i++) {
      lab.setLink(lab.router(1), 'down')
      lab.setLink(lab.router(1), 'up')
    }
    await eventually('the daemon to be Active', () => status()?.routers[0]?.state === 'Active', {
      sight: status,
      within: 10_000,
    })
    const at = daemon.signal('SIGTERM')
    const { code, at: gone } = await daemon.exited
    holder.killFamily()
    // Leaving takes 200 ms. The flush of the log gives up after 200 ms more.
    expect([code, gone - at < 2_000], `left ${(gone - at).toFixed(0)} ms after SIGTERM`).toEqual([0, true])
    expect(lab.holders(LAB_VIP)).toEqual([])
  })

  test.each([
    ['an exception', 'throw bug'],
    ['a rejection', 'Promise.reject(bug)'],
  ])('that has a bug (%s) leaves no address, though nobody reads what it says', async (name, fault) => {
    const [place = ''] = name.split(' ').slice(-1)
    const fifo = join(lab.directory, `stuck-${place}`)
    const preload = join(lab.directory, `${place}.mjs`)
    // The pipe is full before the engine has written anything, every cleanup takes 3 s, and SIGUSR2 triggers the bug. The pipe is opened
    // twice: the log makes its own descriptor non-blocking, and standard error must not depend on that.
    writeFileSync(
      preload,
      `import { existsSync, constants, openSync, writeSync } from 'node:fs'
      const bug = new Error('a bug')
      const fd = openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK)
      try {
        for (;;) writeSync(fd, '.'.repeat(4096))
      } catch {}
      process.on('exit', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000))
      process.on('SIGUSR2', () => { ${fault} })`,
    )
    execFileSync('mkfifo', [fifo])
    const holder = new LoggedProcess(lab, lab.router(1), ['sh', '-c', `exec sleep 60 <${fifo}`])
    const daemon = new LoggedProcess(
      lab,
      lab.router(1),
      ['sh', '-c', `exec ${HOLDFAST} run -c ${configFile(place)} >${fifo} 2>${fifo}`],
      { NODE_OPTIONS: `--import=${preload}` },
    )
    const holders = () => lab.holders(LAB_VIP)
    await eventually('the VIP to be held', () => holders().length === 1, { sight: holders, within: 10_000 })
    const at = daemon.signal('SIGUSR2')
    await eventually('the VIP to be gone', () => holders().length === 0, { sight: holders, within: 1_000 })
    const { code, at: left } = await daemon.exited
    holder.killFamily()
    expect([code, left - at < 5_000], `left ${(left - at).toFixed(0)} ms after the bug`).toEqual([1, true])
  })

  test('the HTTP port serves metrics and status, and the daemon tries again while the port is in use', async () => {
    const listen = { api: { listen: '127.0.0.1:9655' } }
    execFileSync('ip', ['-n', lab.router(1).namespace, 'link', 'set', 'lo', 'up'])
    const blocker = new LoggedProcess(lab, lab.router(1), [
      'node',
      '-e',
      "require('net').createServer().listen(9655, '127.0.0.1', () => console.log('taken'))",
    ])
    await eventually('the port to be taken', () => blocker.lines.length > 0, {
      sight: () => blocker.lines,
      within: 5_000,
    })
    const daemon = new LoggedProcess(lab, lab.router(1), [HOLDFAST, 'run', '-c', configFile('listen', listen)])
    const lines = () => daemon.lines.map(({ text }) => text)
    await eventually('a line that says the port is in use', () => lines().some((text) => text.includes('EADDRINUSE')), {
      sight: lines,
      within: 5_000,
    })
    blocker.killFamily()
    await eventually('the daemon to serve', () => lines().some((text) => text.includes('Serving /metrics')), {
      sight: lines,
      within: 5_000,
    })
    const script = `const paths = ['/metrics', '/v1/status', '/healthz', '/nothing']
      for (const path of paths) {
        const response = await fetch('http://127.0.0.1:9655' + path)
        console.log(response.status, (await response.text()).includes(process.argv[1]))
      }
      console.log((await fetch('http://127.0.0.1:9655/metrics', { method: 'POST' })).status)`
    const [file = '', ...argv] = lab.commandOn(lab.router(1), ['node', '--input-type=module', '-e', script, 'vip'])
    const answers = execFileSync(file, argv, { encoding: 'utf8', timeout: 10_000 })
    expect(answers.trim().split('\n')).toEqual(['200 true', '200 true', '200 false', '404 false', '405'])
    daemon.signal('SIGTERM')
    expect((await daemon.exited).code).toBe(0)
  })
})

test('a worker thread whose engine is silent answers 503', async () => {
  const port = await freePort()
  const worker = new Worker(join(packageRoot(), 'dist', 'bundle', 'worker.js'), {
    workerData: { listen: { host: '127.0.0.1', port }, version: '0' },
  })
  worker.postMessage({ kind: 'serve' })
  try {
    const said = await new Promise((resolve, reject) => {
      worker.once('error', reject)
      worker.once('message', resolve)
    })
    expect(said).toEqual({ kind: 'listening' })
    for (const path of ['/v1/status', '/metrics', '/healthz']) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`)
      expect([response.status, await response.text()]).toEqual([503, 'The engine has not answered for 1000 ms\n'])
    }
  } finally {
    await worker.terminate()
  }
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}
