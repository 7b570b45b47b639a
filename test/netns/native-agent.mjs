/**
 * Runs the addon inside a network namespace. A scenario is called by name, writes JSON lines to standard output, and
 * takes a line on standard input as "continue". Plain JavaScript, which tests the binary without the TypeScript
 * sources.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { getSystemErrorName } from 'node:util'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

const { NativeSocket, NativeTimer, clocks, interfaceIndex } = createRequire(import.meta.url)('node-gyp-build')(
  new URL('../../native', import.meta.url).pathname,
)

const AF_INET = 2
const AF_INET6 = 10
const AF_NETLINK = 16
const AF_PACKET = 17
const SOCK_RAW = 3
const DGRAM = 2

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const goOn = () => lines.next()
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
/** Returns the outcome of send() for each message; send() returns undefined if all messages were sent whole. */
const resultsOf = (socket, messages, to) => [...(socket.send(messages, to) ?? messages.map(({ length }) => length))]
const code = (number) => (number < 0 ? getSystemErrorName(number) : number)

function codeOf(action) {
  try {
    action()
    return 'no error'
  } catch (error) {
    return [error.code, error.errno, error.syscall].filter((part) => part !== undefined).join(' ')
  }
}

function int(value) {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setInt32(0, value, true)
  return bytes
}

function sockaddr4(a, b, c, d) {
  const bytes = new Uint8Array(16)
  bytes.set([AF_INET, 0, 0, 0, a, b, c, d])
  return bytes
}

function sockaddr6(address, scope) {
  const bytes = new Uint8Array(28)
  bytes[0] = AF_INET6
  bytes.set(address, 8)
  new DataView(bytes.buffer).setUint32(24, scope, true)
  return bytes
}

function sockaddrLink(protocol, index) {
  const bytes = new Uint8Array(20)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, AF_PACKET, true)
  view.setUint16(2, protocol)
  view.setInt32(4, index, true)
  bytes[11] = 6
  bytes.fill(0xff, 12, 18)
  return bytes
}

function record(socket, i, size) {
  const view = new DataView(socket.meta.buffer, i * 128, 128)
  const length = view.getUint32(0, true)
  return {
    length,
    flags: view.getUint32(4, true),
    ttl: view.getInt32(8, true),
    interfaceIndex: view.getUint32(12, true),
    realtime: view.getFloat64(16, true),
    overflow: view.getUint32(24, true),
    destination: Buffer.from(socket.meta.subarray(i * 128 + 32, i * 128 + 48)).toString('hex'),
    source: Buffer.from(socket.meta.subarray(i * 128 + 52, i * 128 + 52 + view.getUint32(48, true))).toString('hex'),
    packetType: socket.meta[i * 128 + 80],
    bytes: Buffer.from(socket.data.subarray(i * size, i * size + Math.min(length, 200))).toString('hex'),
  }
}

/** Reads every queued packet. A negative result of receive() is an error, which ends the reading and is reported. */
function drain(socket, size, keep = Number.POSITIVE_INFINITY) {
  const packets = []
  let count = 0
  for (;;) {
    const n = socket.receive()
    if (n <= 0) return { packets, count, error: n < 0 ? code(n) : null }
    for (let i = 0; i < n; i++) {
      count++
      if (packets.length >= keep) packets.shift()
      packets.push(record(socket, i, size))
    }
  }
}

function open4() {
  const socket = new NativeSocket(AF_INET, SOCK_RAW, 112, 16, 2048)
  socket.setOption(0, 8, int(1)) // IP_PKTINFO
  socket.setOption(0, 12, int(1)) // IP_RECVTTL
  socket.setOption(0, 33, int(255)) // IP_MULTICAST_TTL
  socket.setOption(0, 34, int(0)) // IP_MULTICAST_LOOP
  const group = new Uint8Array(12)
  group.set([224, 0, 0, 18])
  new DataView(group.buffer).setInt32(8, interfaceIndex('eth0'), true)
  socket.setOption(0, 32, group) // IP_MULTICAST_IF
  socket.setOption(0, 35, group) // IP_ADD_MEMBERSHIP
  socket.setOption(1, 35, int(1)) // SO_TIMESTAMPNS
  socket.setOption(1, 40, int(1)) // SO_RXQ_OVFL
  return socket
}

function open6() {
  const socket = new NativeSocket(AF_INET6, SOCK_RAW, 112, 16, 2048)
  socket.setOption(41, 49, int(1)) // IPV6_RECVPKTINFO
  socket.setOption(41, 51, int(1)) // IPV6_RECVHOPLIMIT
  socket.setOption(41, 16, int(64)) // IPV6_UNICAST_HOPS
  socket.setOption(1, 35, int(1))
  return socket
}

const scenarios = {
  /** Receives on sockets of both families until the scenario ends. */
  async listen() {
    for (const [family, socket] of [
      ['ipv4', open4()],
      ['ipv6', open6()],
    ]) {
      socket.start(
        () => {
          for (const packet of drain(socket, 2048).packets) say({ family, now: Date.now(), ...packet })
        },
        (errno) => say({ family, error: code(-errno) }),
      )
    }
    say({ ready: true, interfaceIndex: interfaceIndex('eth0') })
    await goOn()
  },

  async speak() {
    const four = open4()
    const six = open6()
    const peer = new Uint8Array(16)
    peer.set([0xfe, 0x80])
    peer[15] = 2
    const sent = [
      four.send([Uint8Array.of(0x31, 1, 2, 3, 4)], [sockaddr4(224, 0, 0, 18)]),
      six.send([Uint8Array.of(0x31, 6, 6)], [sockaddr6(peer, interfaceIndex('eth0'))]),
    ]
    say({ sent: sent.map((results) => results ?? 'whole') })
  },

  /** Sends three valid messages around a message that is too long and a message without a route. */
  async 'send-some-fail'() {
    const socket = open4()
    const group = sockaddr4(224, 0, 0, 18)
    const short = Uint8Array.of(0x31, 9)
    const messages = [short, new Uint8Array(70_000), short, short, short]
    const to = [group, group, group, sockaddr4(203, 0, 113, 9), group]
    say({ sent: resultsOf(socket, messages, to).map(code) })
    // A batch of so few messages needs no allocated memory.
    say({ sent: resultsOf(socket, messages.slice(0, 2), to.slice(0, 2)).map(code) })
    const many = Array.from({ length: 3000 }, () => short)
    const to3000 = many.map(() => group)
    say({ whole: socket.send(many, to3000) ?? many.length })
    to3000[2999] = sockaddr4(203, 0, 113, 9)
    const results = socket.send(many, to3000)
    say({ many: results.length, distinct: [...new Set(results)].map(code) })
  },

  async flood() {
    const socket = open4()
    for (let i = 0; i < 40; i++) {
      const burst = Array.from({ length: 100 }, () => new Uint8Array(100))
      socket.send(
        burst,
        burst.map(() => sockaddr4(224, 0, 0, 18)),
      )
    }
    say({ sent: 4000 })
  },

  /** Does not read while the neighbour sends a flood. */
  async overflow() {
    const socket = open4()
    socket.setOption(1, 8, int(65_536)) // SO_RCVBUF
    say({ ready: true })
    await goOn()
    const first = drain(socket, 2048, 1)
    say({ drained: first.count })
    await goOn() // one more packet, which carries the count
    await sleep(100)
    const last = drain(socket, 2048, 1)
    say({ received: first.count + last.count, overflow: last.packets[0]?.overflow })
  },

  /** Keeps a packet socket and a raw socket open while eth0 goes down, comes up, is deleted and is created again. */
  async link() {
    const index = interfaceIndex('eth0')
    const packet = new NativeSocket(AF_PACKET, SOCK_RAW, 0x0300 /* ETH_P_ALL, network order */, 4, 2048)
    packet.bind(sockaddrLink(3, index))
    const raw = open4()
    let turns = 0
    const watch = (name, socket) =>
      socket.start(
        () => {
          turns++
          const { count, error, packets } = drain(socket, 2048)
          if (error !== null) say({ name, error, by: 'receive' })
          if (count > 0) say({ name, count, types: [...new Set(packets.map((p) => p.packetType))] })
        },
        (errno) => say({ name, error: code(-errno), by: 'onError' }),
      )
    watch('packet', packet)
    watch('raw', raw)
    say({ ready: true })
    for (;;) {
      const { value, done } = await goOn()
      if (done) return
      const before = turns
      await sleep(100)
      const cpu = process.cpuUsage()
      await sleep(200)
      const { user, system } = process.cpuUsage(cpu)
      const [sent] = resultsOf(raw, [new Uint8Array(8)], [sockaddr4(224, 0, 0, 18)])
      say({ step: value, send: code(sent), turns: turns - before, cpuMs: (user + system) / 1000 })
    }
  },

  /** Blocks the event loop while 600 addresses are added and removed, so that a small netlink queue overflows. */
  async overrun() {
    const socket = new NativeSocket(AF_NETLINK, SOCK_RAW, 0, 64, 8192)
    socket.setOption(1, 8, int(32_768))
    const groups = new Uint8Array(12)
    new DataView(groups.buffer).setUint16(0, AF_NETLINK, true)
    new DataView(groups.buffer).setUint32(8, 0x10, true) // RTMGRP_IPV4_IFADDR
    socket.bind(groups)
    const errors = []
    let messages = 0
    socket.start(
      () => {
        const { count, error } = drain(socket, 8192, 1)
        messages += count
        if (error !== null) errors.push(error)
      },
      (errno) => errors.push(code(-errno)),
    )
    const batch = []
    for (let i = 0; i < 200; i++) batch.push(`addr add 10.9.${i}.1/32 dev lo`)
    for (let i = 0; i < 200; i++) batch.push(`addr del 10.9.${i}.1/32 dev lo`)
    const { status } = spawnSync('ip', ['-batch', '-'], { input: `${batch.join('\n')}\n` })
    await sleep(100)
    const before = messages
    spawnSync('ip', ['addr', 'add', '10.9.9.9/32', 'dev', 'lo'])
    await sleep(100)
    say({ status, errors, messages: before, after: messages - before })
    socket.close()
  },

  /** Terminates worker threads with sockets in every stage of their life. */
  async workers() {
    openEveryKind()
    const count = () => readdirSync('/proc/self/fd').length
    let early = 0
    for (let i = 0; i < 30; i++) {
      const worker = new Worker(new URL(import.meta.url), { argv: ['workers'] })
      await new Promise((resolve, reject) => {
        worker.once('message', resolve)
        worker.once('error', reject)
      })
      await worker.terminate()
      if (i === 4) early = count()
    }
    say({ cycles: 30, grown: count() - early })
  },

  /** Reports times and number of ticks. A set timer keeps the process alive, and an unset timer does not. */
  async timer() {
    const read = new Float64Array(3)
    const now = () => {
      clocks(read)
      return read[0]
    }
    const timer = new NativeTimer()
    let ticks = 0
    let onTick = () => {}
    const tick = () => {
      ticks++
      onTick(now())
    }
    timer.start(tick, tick)
    const ticked = (at) =>
      new Promise((resolve) => {
        onTick = (moment) => resolve(moment - at)
        timer.set(at)
      })
    const late = []
    for (let i = 0; i < 20; i++) late.push(await ticked(now() + 5.3))
    late.push(await ticked(now() - 1_000))
    say({ ticks, early: late.filter((ms) => ms < 0).length })
    // The time is changed before and after the tick. The time before the change must have no effect.
    onTick = () => {}
    timer.set(now() + 1)
    const busyUntil = now() + 5
    while (now() < busyUntil);
    timer.set(now() + 1_000)
    await sleep(20)
    const putOff = ticks
    await sleep(1_100)
    say({ putOff: putOff - 21, once: ticks - 21 })
    timer.set(now() + 5)
    timer.set(0)
    await sleep(20)
    say({ taken: ticks - 22, wrong: [Number.NaN, -1, 'x'].map((at) => codeOf(() => timer.set(at))) })
    // All sleeps have ended, and no code reads standard input.
    process.stdin.destroy()
    onTick = () => say({ alive: true })
    timer.set(now() + 20)
  },

  async exceptions() {
    const socket = new NativeSocket(AF_INET, SOCK_RAW, 112, 4, 2048)
    let thrown = 0
    process.on('uncaughtException', (error) => {
      say({ caught: error.message })
      if (++thrown === 2) {
        socket.close()
        socket.close()
        say({ receive: code(socket.receive()), send: resultsOf(socket, [new Uint8Array(1)]).map(code) })
      } else socket.send([new Uint8Array(1)], [sockaddr4(127, 0, 0, 1)])
    })
    socket.start(
      () => {
        socket.receive()
        throw new Error('from onReadable')
      },
      () => {},
    )
    socket.send([new Uint8Array(1)], [sockaddr4(127, 0, 0, 1)])
  },

  /** Closes a socket in its own callback, and drops the last reference to another socket. */
  async lifetime() {
    // The scenario waits for the callback, not for a fixed time. On a busy machine, a fixed time may end before the socket is readable.
    await new Promise((closed) => {
      const socket = open4()
      socket.start(
        () => {
          socket.close()
          say({ closed: true })
          closed()
        },
        () => {},
      )
      socket.send([new Uint8Array(1)], [sockaddr4(127, 0, 0, 1)])
    })
    const before = readdirSync('/proc/self/fd').length
    for (let i = 0; i < 50; i++) new NativeSocket(AF_INET, DGRAM, 0, 4, 2048)
    for (let i = 0; i < 5; i++) {
      globalThis.gc()
      await sleep(20)
    }
    say({ leaked: readdirSync('/proc/self/fd').length - before })
    const moved = open4()
    structuredClone(moved.data.buffer, { transfer: [moved.data.buffer] })
    try {
      moved.receive()
      say({ detached: 'no error' })
    } catch (error) {
      say({ detached: error.code })
    }
    moved.close()
  },

  async rejections() {
    const socket = open4()
    say({
      option: codeOf(() => socket.setOption(0, 9999, int(1))),
      bind: codeOf(() => socket.bind(sockaddr4(203, 0, 113, 1))),
      filter: codeOf(() => socket.attachFilter(new Uint8Array(7))),
      foreign: codeOf(() => NativeSocket.prototype.receive.call({})),
      noNew: codeOf(() => NativeSocket(AF_INET, SOCK_RAW, 112, 1, 1)),
      few: codeOf(() => new NativeSocket(AF_INET, SOCK_RAW)),
      huge: codeOf(() => new NativeSocket(AF_INET, SOCK_RAW, 112, 1024, 1 << 20)),
      unequal: codeOf(() => socket.send([new Uint8Array(1)], [])),
      notBytes: codeOf(() => socket.send(['x'])),
      buffer: codeOf(() => socket.send([Buffer.from('x')], [sockaddr4(127, 0, 0, 1)])),
      family: codeOf(() => new NativeSocket(99, SOCK_RAW, 0, 1, 1)),
      name: interfaceIndex('lo\0x') + interfaceIndex('a'.repeat(300)) + interfaceIndex(''),
    })
    socket.close()
  },

  async privilege() {
    process.setuid?.(65_534)
    try {
      new NativeSocket(AF_INET, SOCK_RAW, 112, 1, 2048)
      say({ opened: true })
    } catch (error) {
      say({ code: error.code, errno: error.errno, syscall: error.syscall, message: error.message })
    }
  },
}

function openEveryKind() {
  const raw = new NativeSocket(AF_INET, SOCK_RAW, 112, 16, 2048)
  raw.start(
    () => raw.receive(),
    () => {},
  )
  raw.send([new Uint8Array(4)], [sockaddr4(127, 0, 0, 1)])
  const monitor = new NativeSocket(AF_NETLINK, SOCK_RAW, 0, 4, 8192)
  monitor.start(
    () => monitor.receive(),
    () => {},
  )
  monitor.stop()
  const closing = new NativeSocket(AF_NETLINK, SOCK_RAW, 0, 4, 8192)
  closing.start(
    () => {},
    () => {},
  )
  closing.close()
  return new NativeSocket(AF_INET, DGRAM, 0, 4, 2048)
}

if (isMainThread) {
  await scenarios[process.argv[2]]()
  process.stdin.destroy()
  if (process.argv[2] === 'listen' || process.argv[2] === 'link' || process.argv[2] === 'workers') process.exit(0)
} else {
  openEveryKind()
  parentPort.postMessage('ready')
}
