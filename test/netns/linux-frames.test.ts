/** Ethernet frames between two namespaces: announcements that arrive, and frames that may wake the engine. */
import { expect, test } from 'vitest'
import { ip } from '../../src/lab/ip.ts'
import { describeNetns } from '../support/require.ts'
import { Agent, until } from './linux-fixture.ts'
import { ETH, twoEnds } from './two-ends.ts'

describeNetns('the frame socket of src/linux', () => {
  const ends = twoEnds()

  test('a gratuitous ARP corrects the neighbour table of the other host, and its frame socket delivers the frame', async () => {
    const { there, left, right } = ends
    // The entry to correct: the VIP at the MAC of a host that is gone.
    ip(there, 'neigh replace 198.51.100.200 lladdr 02:00:00:00:de:ad dev eth0 nud stale')
    const mac = (await left.call('links')).find(({ index }) => index === 7)?.mac ?? ''
    const plain = mac.replaceAll(':', '')
    const vip = 'c63364c8'
    const arp = `ffffffffffff${plain}0806 0001080006040001${plain}${vip}ffffffffffff${vip}`.replaceAll(' ', '')
    const sender = (await left.call('openFrames', { ...ETH, hears: 'claims' })).socket ?? -1
    await right.call('openFrames', { ...ETH, hears: 'claims' })
    expect(await left.call('sendFrames', sender, [arp])).toEqual([{ ok: true }])
    await until(
      'the new holder',
      () => ip(there, 'neigh show 198.51.100.200 dev eth0'),
      (text) => text.includes(mac),
    )
    const frames = await until('the frame', right.frames, (list) => list.some((frame) => frame.startsWith(arp)))
    expect(frames.filter((frame) => frame.slice(24, 28) !== '0806')).toEqual([])
    expect(
      left.frames.filter((frame) => frame.startsWith(arp)),
      'our own frame came back',
    ).toEqual([])
  })

  test('an unsolicited Neighbor Advertisement is delivered, and other IPv6 frames wake no process', async () => {
    const { left, right } = ends
    const sender = (await left.call('openFrames', { ...ETH, hears: 'nothing' })).socket ?? -1
    await right.call('openFrames', { ...ETH, hears: 'claims', family: 'ipv6' })
    right.frames.length = 0
    const ipv6 = (next: string, type: string) =>
      `33330000000102000000000186dd60000000000c${next}ff${'fe80'.padEnd(31, '0')}1ff02${'1'.padStart(28, '0')}${type}0000000000000000000000`
    const advertisement = ipv6('3a', '88')
    const others = [ipv6('3a', '87'), ipv6('3a', '86'), ipv6('11', '88')]
    expect(await left.call('sendFrames', sender, [...others, advertisement])).toEqual(
      [...others, advertisement].map(() => ({ ok: true })),
    )
    const frames = await until('the advertisement', right.frames, (list) =>
      list.some((frame) => frame.startsWith(advertisement)),
    )
    expect(frames.filter((frame) => frame.slice(24, 28) === '86dd' && frame.slice(108, 110) !== '88')).toEqual([])
  })

  test('only ARP replies wake a socket that waits for answers', async () => {
    const { there, left } = ends
    const sender = (await left.call('openFrames', { ...ETH, hears: 'nothing' })).socket ?? -1
    const asking = new Agent(there)
    await asking.call('openFrames', { ...ETH, hears: 'answers' })
    const arp = (operation: string) =>
      `${'ff'.repeat(6)}${'02'.repeat(6)}0806 000108000604${operation}${'0a'.repeat(20)}`
    const [request, reply] = ['0001', '0002'].map((operation) => arp(operation).replaceAll(' ', ''))
    await left.call('sendFrames', sender, [request, reply, request].map(String))
    const frames = await until('the reply', asking.frames, (list) => list.length > 0)
    await asking.call('now')
    expect(frames.map((frame) => frame.slice(40, 44))).toEqual(['0002'])
    asking.stop()
  })

  test('the callback of a frame may close the socket that delivers the frame', async () => {
    const { there, left } = ends
    const sender = (await left.call('openFrames', { ...ETH, hears: 'nothing' })).socket ?? -1
    const third = new Agent(there)
    await third.call('openFrames', { ...ETH, hears: 'once' })
    const frame = `${'ff'.repeat(6)}${'02'.repeat(6)}0806${'00'.repeat(28)}`
    await left.call(
      'sendFrames',
      sender,
      Array.from({ length: 200 }, () => frame),
    )
    await until('the frame', third.frames, (list) => list.length > 0)
    await third.call('now')
    expect(third.frames.length, 'frames of the closed socket').toBe(1)
    expect(third.failures).toEqual([])
    third.stop()
  })

  test('a link that goes down is reported and sending fails, and sending works when the link is up again', async () => {
    const { here, left } = ends
    const socket = (await left.call('openFrames', { ...ETH, hears: 'claims' })).socket ?? -1
    left.failures.length = 0
    ip(here, 'link set eth0 down')
    await until('the report', left.failures, (list) => list.some(({ code }) => code === 'ENETDOWN'))
    const frame = `${'ff'.repeat(6)}${'02'.repeat(6)}0806${'00'.repeat(28)}`
    expect(await left.call('sendFrames', socket, [frame])).toMatchObject([
      { ok: false, failure: { code: 'ENETDOWN', message: 'Cannot send a frame on "eth0": interface is down' } },
    ])
    ip(here, 'link set eth0 up')
    await until(
      'sending works',
      () => left.call('sendFrames', socket, [frame]),
      ([outcome]) => outcome?.ok === true,
    )
  })

  test('without CAP_NET_RAW the error names the capability', async () => {
    const { here } = ends
    const weak = new Agent(here, ['setpriv', '--bounding-set', '-net_raw', '--inh-caps', '-net_raw'])
    const missing = { code: 'EPERM', retryable: false }
    expect(await weak.call('openFrames', { ...ETH, hears: 'claims' })).toMatchObject({
      failure: { ...missing, message: 'Cannot open a packet socket on "eth0": CAP_NET_RAW is missing' },
    })
    weak.stop()
  })
})
