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
    const heard = (count: number) =>
      until(
        `${count} answers`,
        () => asking.frames,
        (list) => list.length === count,
      )

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
    await until(
      'the other host',
      () => asking.frames,
      (list) => list.some((frame) => frame.includes('c6336403')),
    )
    expect(await asking.call('answeredAt', socket, OTHER)).toBeNull()
    const known = asking.frames.length
    await sleep(1_700)
    await send(answer)
    await heard(known + 1)
    asking.stop()
  })
})
