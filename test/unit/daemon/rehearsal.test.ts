/**
 * The rehearsal runs every path of a failover without an effect. All that it sends, arms and opens ends in its ports.
 * With the ports of the real program it opens no descriptor.
 */
import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { CleanupPlan, SocketPort } from '../../../src/daemon/ports.ts'
import { rehearsal } from '../../../src/daemon/rehearsal.ts'
import { openClock } from '../../../src/linux/clock.ts'
import { openGuardian } from '../../../src/linux/guardian/guardian.ts'
import { MUTE_NATIVE } from '../../../src/linux/mute-native.ts'
import { openSockets } from '../../../src/linux/sockets/sockets.ts'
import { failure } from './fake-world.ts'

/** The calls of the rehearsal, in order. `changed` replaces a part of the sockets. */
function watch(changed: Partial<SocketPort> = {}) {
  const acts: string[] = []
  const sockets: SocketPort = {
    openAdvertisementSocket: () => ({
      drain: () => ({ packets: 0, empty: true, lost: 0 }),
      send: (datagrams) => {
        for (const { bytes } of datagrams) acts.push(`priority ${bytes[2]}`)
        return datagrams.map(() => ({ ok: true }))
      },
      join: () => undefined,
      close: () => acts.push('close'),
    }),
    openNeighborWatch: () => ({ close: () => {} }),
    openFrameSocket: ({ hears }) => ({
      send: (frames) => {
        acts.push(`${frames.length} frames`)
        return frames.map(() => ({ ok: true }))
      },
      hear: (now) => acts.push(`hears ${now}`),
      close: () => acts.push(`${hears} no more`),
    }),
    ...changed,
  }
  const guardian = {
    arm: ({ remove }: CleanupPlan) => acts.push(`arm ${remove.length}`) > 0,
    stepDown: () => ({ executed: false, late: false }),
    withdraw: () => void acts.push('withdraw'),
    sent: () => {},
    state: () => 'withdrawn' as const,
    acknowledge: () => true,
    executions: 0,
    listen: () => false,
    beat: () => undefined,
    guarded: false,
    armed: true,
  }
  return { acts, play: rehearsal({ sockets, guardian }) }
}

test('the rehearsal runs takeover, rounds, a competing Active, a loss, a release, a fault, yield and shutdown', () => {
  const { acts, play } = watch()
  Array.from(play)
  const said = (text: string) => acts.filter((act) => act === text).length
  expect(said('arm 1'), 'takeovers').toBeGreaterThanOrEqual(4)
  // Armed again after each change of the priority; the last call counts.
  const words = acts.filter((act) => act === 'arm 1' || act === 'withdraw')
  const ends = words.filter((word, i) => word === 'withdraw' && words[i - 1] === 'arm 1').length
  expect(ends, 'not Active any more').toBeGreaterThanOrEqual(4)
  expect([said('withdraw'), words.at(-1)], 'and once each').toEqual([ends, 'withdraw'])
  expect(said('priority 100'), 'advertisements').toBeGreaterThan(10)
  expect(said('priority 0'), 'releases: a fault, and twice each at yield and shutdown').toBe(5)
  expect(said('priority 90'), 'the demotion').toBe(1)
  expect(said('1 frames') + said('2 frames'), 'announcements and questions').toBeGreaterThan(15)
  expect(said('close'), 'the socket').toBe(1)
})

test('the rehearsal opens no descriptor with the ports of the program, and leaves nothing running', () => {
  const descriptors = () => readdirSync('/proc/self/fd').length
  const before = descriptors()
  const sockets = openSockets(MUTE_NATIVE, openClock(MUTE_NATIVE))
  for (const _ of rehearsal({ sockets, guardian: openGuardian('rehearsal') })) expect(descriptors()).toBe(before)
})

test('the rehearsal runs to its end although no socket can be opened, and sends nothing', () => {
  const { acts, play } = watch({ openAdvertisementSocket: () => failure('EMFILE') })
  Array.from(play)
  expect(acts.filter((act) => /^(priority|close)/.test(act))).toEqual([])
})
