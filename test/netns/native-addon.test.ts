/** The addon's binary: the metadata of a packet, and a process that survives everything that the kernel does to a socket. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cable, makeNamespace, removeAll } from '../../src/lab/cable.ts'
import { ip, linkOf } from '../../src/lab/ip.ts'
import { monotonicMs } from '../../src/lab/wait.ts'
import { loadNative, META_SIZE } from '../../src/linux/native.ts'
import { describeNetns } from '../support/require.ts'
import { agent, NATIVE, outcome } from './native-fixture.ts'

describe('the native binaries', () => {
  test('are built from the sources beside them', () => {
    const run = () => execFileSync(join(NATIVE, 'build.sh'), ['--check'], { encoding: 'utf8', stdio: 'pipe' })
    expect(run, 'native/prebuilds is stale: run native/build.sh and commit the result').not.toThrow()
  })

  test("include an addon that loads and whose clocks agree with Node's clocks", () => {
    const native = loadNative()
    const clocks = new Float64Array(3)
    // Node's clocks are read before and after the addon's, so that a delay between the reads is no difference.
    const before = { monotonic: monotonicMs(), realtime: Date.now() }
    native.clocks(clocks)
    const after = { monotonic: monotonicMs(), realtime: Date.now() }
    const [monotonic = 0, realtime = 0, boottime = 0] = clocks
    expect(monotonic).toBeGreaterThanOrEqual(before.monotonic - 1)
    expect(monotonic).toBeLessThanOrEqual(after.monotonic + 1)
    // Node's time is rounded down to whole milliseconds, and the kernel may adjust the clock's speed.
    expect(realtime).toBeGreaterThanOrEqual(before.realtime - 2)
    expect(realtime).toBeLessThanOrEqual(after.realtime + 2)
    expect(boottime).toBeGreaterThanOrEqual(monotonic - 1)
    expect(native.interfaceIndex('lo')).toBeGreaterThan(0)
    expect(native.interfaceIndex('no-such-link')).toBe(0)
    const socket = new native.NativeSocket(1, 2, 0, 4, 100) // An AF_UNIX socket needs no privilege.
    expect([socket.meta.length, socket.data.length]).toEqual([4 * META_SIZE, 400])
    expect(socket.receive()).toBe(0)
    socket.close()
    socket.close()
    expect(socket.receive()).toBe(-9) // EBADF
  })
})

describeNetns('the addon in network namespaces', () => {
  let left = ''
  let right = ''

  beforeAll(() => {
    left = makeNamespace()
    right = makeNamespace()
    cable(left, right)
  })
  afterAll(removeAll)

  test("a received packet has its TTL or hop limit, both addresses, its interface and the kernel's receive time", async () => {
    const listener = agent(right, 'listen')
    await listener.line('ready', (line) => line.ready === true)
    expect(await outcome(left, 'speak')).toEqual([{ sent: ['whole', 'whole'] }])
    const four = await listener.line('the IPv4 packet', (line) => line.family === 'ipv4')
    const six = await listener.line('the IPv6 packet', (line) => line.family === 'ipv6')
    expect(four).toMatchObject({
      length: 25,
      flags: 0,
      ttl: 255,
      interfaceIndex: linkOf(right, 'eth0').ifindex,
      destination: `e0000012${'00'.repeat(12)}`,
      source: `02000000c6336401${'00'.repeat(8)}`,
      bytes: expect.stringMatching(/^45.*3101020304$/),
    })
    expect(six).toMatchObject({
      length: 3,
      ttl: 64,
      interfaceIndex: linkOf(right, 'eth0').ifindex,
      destination: `fe80${'00'.repeat(13)}02`,
      source: expect.stringMatching(/^0a00.{12}fe80(00){13}01/),
      bytes: '310606',
    })
    for (const { now, realtime } of [four, six]) {
      const age = Number(now) - Number(realtime)
      expect(age, 'ms from the receive time of the kernel to the read in JavaScript').toBeGreaterThan(-2)
      // A time of another clock would differ by years, or by the uptime of the machine.
      expect(age, 'ms from the receive time of the kernel to the read in JavaScript').toBeLessThan(5_000)
    }
    listener.tell('end')
    expect(await listener.ended).toEqual({ code: 0, signal: null })
  })

  test('a message that cannot be sent does not stop the messages behind it', async () => {
    expect(await outcome(left, 'send-some-fail')).toEqual([
      { sent: [2, 'EMSGSIZE', 2, 'ENETUNREACH', 2] },
      { sent: [2, 'EMSGSIZE'] },
      { whole: 3000 },
      { many: 3000, distinct: [2, 'ENETUNREACH'] },
    ])
  })

  test('packets that a full queue dropped are counted', async () => {
    const listener = agent(right, 'overflow')
    await listener.line('ready', (line) => line.ready === true)
    await outcome(left, 'flood')
    listener.tell('drain')
    const { drained } = await listener.line('what was queued', (line) => line.drained !== undefined)
    expect(drained).toBeLessThan(4000)
    await outcome(left, 'speak')
    listener.tell('drain')
    const last = await listener.line('the count', (line) => line.received !== undefined)
    expect(Number(last.received) + Number(last.overflow), JSON.stringify(last)).toBe(4001)
    listener.hush()
    await listener.ended
  })

  test('a link that goes down, comes up, is deleted and created again is reported without a busy loop, and is usable', async () => {
    const here = makeNamespace()
    const there = makeNamespace()
    cable(here, there)
    const watcher = agent(here, 'link')
    await watcher.line('ready', (line) => line.ready === true)
    const step = async (name: string, command: string) => {
      ip(here, command)
      watcher.tell(name)
      return watcher.line(`the account of ${name}`, (line) => line.step === name)
    }
    const errors = () => watcher.said.filter(({ error }) => error !== undefined).map(({ name, error }) => [name, error])

    expect(await step('down', 'link set eth0 down')).toMatchObject({ send: 'ENETUNREACH' })
    expect(errors()).toEqual([['packet', 'ENETDOWN']])
    const up = await step('up', 'link set eth0 up')
    expect(up).toMatchObject({ send: 8 })
    await watcher.line('our own packet on the packet socket', ({ name, count }) => name === 'packet' && count === 1)
    const deleted = await step('deleted', 'link del eth0')
    expect(String(deleted.send)).toMatch(/^E(NODEV|NETUNREACH)$/)
    for (const account of [up, deleted]) expect(Number(account.cpuMs), JSON.stringify(account)).toBeLessThan(100)
    for (const [, error] of errors()) expect(error).toBe('ENETDOWN')
    expect(errors().length).toBeGreaterThanOrEqual(2)
    expect(errors().length, 'reports, at most one for each event').toBeLessThanOrEqual(4)
    watcher.hush()
    expect(await watcher.ended).toEqual({ code: 0, signal: null })
  })

  test('a netlink overrun is reported, and the socket continues', async () => {
    const [account] = await outcome(right, 'overrun')
    expect(account).toMatchObject({ status: 0, errors: ['ENOBUFS'], after: 1 })
    expect(Number(account?.messages)).toBeGreaterThan(0)
    expect(Number(account?.messages)).toBeLessThan(400)
  })

  test('30 worker threads with open sockets are terminated without a crash or a leak', async () => {
    const [account] = await outcome(right, 'workers')
    expect(account).toMatchObject({ cycles: 30 })
    expect(
      Math.abs(Number(account?.grown)),
      'growth of the number of file descriptors from the 5th to the 30th cycle',
    ).toBeLessThanOrEqual(2)
  })

  test('a timer of the addon ticks once, at its time and not before, and keeps the process alive only while it is set', async () => {
    expect(await outcome(left, 'timer')).toEqual([
      { ticks: 21, early: 0 },
      { putOff: 0, once: 1 },
      { taken: 0, wrong: Array.from({ length: 3 }, () => 'ERR_INVALID_ARG_TYPE') },
      { alive: true },
    ])
  })

  test('an error of a callback is an uncaught exception of JavaScript, and close() is final and idempotent', async () => {
    const said = await outcome(right, 'exceptions')
    expect(said).toEqual([
      { caught: 'from onReadable' },
      { caught: 'from onReadable' },
      { receive: 'EBADF', send: ['EBADF'] },
    ])
  })

  test('a socket that is closed in its own callback, is garbage collected, or loses its memory causes no crash', async () => {
    const said = await outcome(right, 'lifetime', '--expose-gc')
    expect(said).toEqual([{ closed: true }, { leaked: 0 }, { detached: 'ERR_INVALID_ARG_TYPE' }])
  })

  test('wrong arguments and failed calls throw exceptions with code, errno and syscall', async () => {
    expect(await outcome(right, 'rejections')).toEqual([
      {
        option: 'ENOPROTOOPT -92 setsockopt',
        bind: 'EADDRNOTAVAIL -99 bind',
        filter: 'EINVAL -22 setsockopt',
        foreign: expect.any(String),
        noNew: 'ERR_INVALID_ARG_TYPE',
        few: 'ERR_INVALID_ARG_TYPE',
        huge: 'ERR_OUT_OF_RANGE',
        unequal: 'ERR_INVALID_ARG_TYPE',
        notBytes: 'ERR_INVALID_ARG_TYPE',
        buffer: 'no error',
        family: 'EAFNOSUPPORT -97 socket',
        name: 0,
      },
    ])
  })

  test('without the privilege to open a raw socket the error is EPERM', async () => {
    expect(await outcome(right, 'privilege')).toEqual([
      { code: 'EPERM', errno: -1, syscall: 'socket', message: 'socket: EPERM, operation not permitted' },
    ])
  })
})
