/** ARP answers of a host that this node asks again and again: which answers reach the engine, and which are only noted. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { address } from '../../src/wire/address.ts'
import { describeNetns } from '../support/require.ts'
import { Agent, until } from './linux-fixture.ts'
import { ETH, twoEnds } from './two-ends.ts'

const PEER = address('198.51.100.2')
const OTHER = address('198.51.100.3')

describeNetns('expected answers', () => {
  const ends = twoEnds()

  test('an expected answer is noted, and a late answer, another MAC and another host reach the engine', async () => {
    const { there, left } = ends
    const asking = new Agent(there)
    const sender = (await left.call('openFrames', { ...ETH, hears: 'nothing' })).socket ?? -1
    const socket = (await asking.call('openFrames', { ...ETH, hears: 'answers' })).socket ?? -1
    const reply = (mac: string, host: string) =>
      `${'ff'.repeat(6)}${mac}08060001080006040002${mac}c63364${host}${'02'.repeat(6)}c6336401`
    const [mac, otherMac] = ['020000000002', '020000000003']
    const answer = reply(mac, '02')
    const send = (...frames: readonly string[]) => left.call('sendFrames', sender, frames.map(String))
    const heard = (count: number) => until(`${count} answers`, asking.frames, (list) => list.length === count)

    await send(answer)
    await heard(1)
    expect(await asking.call('answeredAt', socket, PEER)).toBeNull()
    await asking.call('expectAnswer', socket, PEER, asking.frames[0] ?? '', 1_500)
    const before = Number(await asking.call('answeredAt', socket, PEER))
    await sleep(50)
    await send(answer, answer)
    await until(
      'the time',
      () => asking.call('answeredAt', socket, PEER),
      (at) => Number(at) > before,
    )
    expect(asking.frames).toHaveLength(1)
    await send(reply(otherMac, '02'))
    await heard(2)
    await send(reply(mac, '03'), answer)
    await until('the other host', asking.frames, (list) => list.some((frame) => frame.includes('c6336403')))
    expect(await asking.call('answeredAt', socket, OTHER)).toBeNull()
    const known = asking.frames.length
    await sleep(1_700)
    await send(answer)
    await heard(known + 1)
    asking.stop()
  })

  test('an expected Neighbor Advertisement is noted, and another MAC, another host and an unsolicited one reach the engine', async () => {
    const { there, left } = ends
    const asking = new Agent(there)
    const sender = (await left.call('openFrames', { ...ETH, hears: 'nothing' })).socket ?? -1
    const socket = (await asking.call('openFrames', { ...ETH, hears: 'claims', family: 'ipv6' })).socket ?? -1
    const host = (last: string) => `fd77${last.padStart(28, '0')}`
    const advertisement = (mac: string, last: string, flags = '60') =>
      `${'02'.repeat(6)}${mac}86dd600000000020 3aff ${host(last)}${host('01')}8800abcd${flags}000000${host(last)}0201${mac}`.replaceAll(
        ' ',
        '',
      )
    const [peer, mac, otherMac] = [address('fd77::2'), '020000000002', '020000000003']
    const answer = advertisement(mac, '02')
    const send = (...frames: readonly string[]) => left.call('sendFrames', sender, frames.map(String))
    const heard = (wanted: string) =>
      until(
        wanted,
        () => asking.frames,
        (list) => list.includes(wanted),
      )
    expect(answer.length / 2, 'octets of the answer').toBe(86)

    await send(answer)
    await heard(answer)
    await asking.call('expectAnswer', socket, peer, answer, 10_000)
    const before = Number(await asking.call('answeredAt', socket, peer))
    asking.frames.length = 0
    await sleep(50)
    await send(answer, answer)
    await until(
      'the time',
      () => asking.call('answeredAt', socket, peer),
      (at) => Number(at) > before,
    )
    const others = [advertisement(otherMac, '02'), advertisement(mac, '03'), advertisement(mac, '02', '20')]
    for (const frame of others) await send(frame)
    for (const frame of others) await heard(frame)
    expect(asking.frames).toEqual(others)
    asking.stop()
  })
})
