/**
 * The questions of an Active before every periodic advertisement, and its announcements after an answer
 * (docs/adr/0007): frames, destinations, rate, and what counts as an answer.
 */
import { describe, expect, test } from 'vitest'
import { arpRequest } from '../../../src/arp/arp-packet.ts'
import { gratuitousArp } from '../../../src/arp/gratuitous-arp.ts'
import { formatStatus } from '../../../src/cli/status/status.ts'
import { address } from '../../../src/wire/address.ts'
import { type Mac, macBytes, macFromBytes } from '../../../src/wire/mac.ts'
import { FakeWorld, ROUTER as PLAIN, type RouterConfig, SELF, VIP, VIP2 } from './fake-world.ts'

/** Duplicate address detection has its own questions: daemon-duplicate.test.ts. */
const ROUTER: RouterConfig = { ...PLAIN, radar: false }
const DOWN = 3_500
const OUR_MAC = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 2))
const OTHER_HOST = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 99))

function activeWorld(router: RouterConfig = ROUTER): FakeWorld {
  const world = new FakeWorld([router]).start()
  world.advance(DOWN + 1)
  expect(world.router().state, `after ${DOWN} ms of silence: ${world.transitions}`).toBe('Active')
  return world
}

/** Answer of another host's kernel to the host that asked. */
function reply(claimed = VIP, from: Mac = OTHER_HOST, to: Mac = OUR_MAC): Uint8Array {
  const [senderAddress, targetAddress] = [address(claimed), address('0.0.0.0')]
  const frame = arpRequest({ senderMac: from, senderAddress, targetMac: to, targetAddress })
  frame.set(macBytes(to))
  frame[21] = 2
  return frame
}

describe('the question', () => {
  test('the question goes to the group and to the virtual MAC around every periodic advertisement, not the first', () => {
    const world = activeWorld({ ...ROUTER, addresses: [VIP, VIP2] })
    expect(world.asked, 'before the takeover').toEqual([])
    world.takeCalls()
    world.advance(1_000)
    const calls = world.takeCalls().filter((call) => /^(ask|advertise)/.test(call))
    const twice = [`ask eth0 ${VIP}`, `ask eth0 ${VIP}`]
    expect(calls).toEqual([...twice, 'advertise eth0 vrid 51 priority 128', ...twice])
    const both = ['01:00:5e:00:00:12', '00:00:5e:00:01:33']
    expect(world.asked.map(({ to }) => to)).toEqual([...both, ...both])
    world.advance(9_000)
    expect(world.asked).toHaveLength(40)
  })

  test('the question after an advertisement is sent at most twice a second', () => {
    const world = activeWorld({ ...ROUTER, advertisementInterval: '100ms' })
    world.asked.length = 0
    world.advance(10_000)
    expect(world.asked).toHaveLength(2 * (100 + 20))
  })

  test('the question is also sent around an extra advertisement', () => {
    const world = activeWorld()
    world.advance(1_500)
    world.takeCalls()
    world.hear(0)
    const calls = world.takeCalls().filter((call) => /^(ask|advertise)/.test(call))
    const twice = [`ask eth0 ${VIP}`, `ask eth0 ${VIP}`]
    expect(calls).toEqual([...twice, 'advertise eth0 vrid 51 priority 128', ...twice])
  })

  test('the question of a unicast router goes to all hosts, at most once in 45 ms', () => {
    const transport = { unicast: { source: SELF, peers: ['192.0.2.20'] } }
    const world = activeWorld({ ...ROUTER, transport, advertisementInterval: '10ms' })
    world.asked.length = 0
    world.advance(1_000)
    expect(world.asked).toHaveLength(20)
    const slower = activeWorld({ ...ROUTER, transport, advertisementInterval: '50ms' })
    slower.asked.length = 0
    slower.advance(1_000)
    expect(slower.asked).toHaveLength(20)
    expect(new Set(world.asked.map(({ to }) => to))).toEqual(new Set(['ff:ff:ff:ff:ff:ff']))
  })

  test('the question is not sent by a Backup, or with probeRivals off', () => {
    const backup = new FakeWorld().start()
    backup.advance(1_000)
    expect([backup.asked, backup.listening]).toEqual([[], []])
    const silent = activeWorld({ ...ROUTER, probeRivals: false })
    silent.advance(5_000)
    expect([silent.asked, silent.listening]).toEqual([[], []])
  })
})

describe('an answer', () => {
  const quiet = () => {
    const world = activeWorld()
    // The announcements of the takeover are over.
    world.advance(6_500)
    world.announced.length = 0
    return world
  }

  test('an answer is announced over immediately and after 50 and 200 ms, logged and counted', () => {
    const world = quiet()
    const at = world.now
    world.hearAnnouncement(reply())
    world.advance(900)
    expect(world.announced.map((one) => Math.round(one.at - at))).toEqual([0, 50, 200])
    expect(world.router().counters.competingAnswers).toBe(1)
    expect(
      world.records.filter(({ message }) => message.includes(`${OTHER_HOST}, answers for ${VIP} as well`)),
    ).toHaveLength(1)
    expect(world.router().state, 'an answer is no reason to step down').toBe('Active')
  })

  test('an answering host is in the status with its MAC and start time, until it is silent for 10 s', () => {
    const world = quiet()
    expect(formatStatus(world.daemon.snapshot())).not.toContain('COMPETING HOST')
    world.hearAnnouncement(reply())
    world.advance(2_000)
    world.hearAnnouncement(reply())
    world.advance(1_500)
    expect(formatStatus(world.daemon.snapshot())).toMatch(
      new RegExp(
        `\\n  COMPETING HOST: ${OTHER_HOST} also answers for ${VIP}: 2 times since \\d\\d:\\d\\d:\\d\\d, last 1 s ago\\n`,
      ),
    )
    world.advance(8_600)
    expect(world.router()).toMatchObject({ competingAnswer: null, counters: { competingAnswers: 2 } })
    expect(formatStatus(world.daemon.snapshot())).not.toContain('COMPETING HOST')
  })

  test('an answer of the former Active is not a warning', () => {
    const world = activeWorld()
    world.hearAnnouncement(reply())
    expect(world.router().counters.competingAnswers).toBe(1)
    const told = world.records.filter(({ message }) => message.includes(`answers for ${VIP}`))
    expect(told.map(({ level, message }) => [level, message])).toEqual([
      [
        'info',
        expect.stringMatching(new RegExp(`: ${OTHER_HOST} still answers for ${VIP}, \\d+ ms after the takeover$`)),
      ],
    ])
    world.advance(600)
    world.hearAnnouncement(reply())
    expect(world.records.at(-1)).toMatchObject({ level: 'warn', message: expect.stringContaining('as well') })
  })

  test('our own answers, answers to others, for other addresses, and announcements do not count', () => {
    const world = quiet()
    const ours = address(VIP)
    world.hearAnnouncement(reply(VIP, OUR_MAC))
    world.hearAnnouncement(reply(VIP, OTHER_HOST, macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 50))))
    world.hearAnnouncement(reply('192.0.2.7'))
    world.hearAnnouncement(gratuitousArp({ address: ours, mac: OTHER_HOST }))
    world.advance(900)
    expect([world.announced, world.router().counters.competingAnswers]).toEqual([[], 0])
  })
})

describe('a higher and a lower competing Active together', () => {
  const parted = () => {
    const world = activeWorld()
    world.advance(6_500)
    world.announced.length = 0
    world.takeCalls()
    return world
  }

  test('packets that arrive while the lower one is answered are read first, so that clients are not misled', () => {
    const world = parted()
    const meanwhile = world.sent.length
    world.onSend = () => {
      if (world.sent.length === meanwhile) world.queueAdvertisement(200)
    }
    world.hear(100, { source: '192.0.2.30' })
    expect(world.router().state, `${world.transitions}`).toBe('Backup')
    expect(world.announced, 'announced by the loser').toEqual([])
    world.advance(21)
    expect(world.installed).toEqual([])
    world.advance(1_000)
    expect(world.announced, 'a second later').toEqual([])
  })

  test('without a higher one the router announces immediately', () => {
    const world = parted()
    const at = world.now
    world.hear(100, { source: '192.0.2.30' })
    expect(world.announced.map((one) => one.at - at)).toEqual([0])
  })
})
