/** The prober as a measuring instrument: an outage of known length, a holder that changes, and two holders together. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeNamespace, removeAll, Talker } from '../../src/lab/cable.ts'
import { ip } from '../../src/lab/ip.ts'
import type { Said } from '../../src/lab/json-process.ts'
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import { describeNetns } from '../support/require.ts'
import { NATIVE } from './native-fixture.ts'

const PROBE = join(NATIVE, 'prebuilds', `linux-${process.arch}`, 'holdfast-probe')
const VIP = '198.51.100.200'
/** Length of the outage in ms. On a busy machine, a command that ends the outage may be late by up to a third of this length. */
const OUTAGE = 1_000
const LATE = 300

describe('the command line of the prober', () => {
  test.each([
    [['--help'], 0],
    [[], 64],
    [['probe', 'not-an-address', '9000'], 64],
    [['probe', '127.0.0.1', '70000'], 64],
    [['probe', '127.0.0.1', '9000', '--interval-us', '1'], 64],
    [['respond', 'a"b', '9000'], 64],
    [['what', 'a', 'b'], 64],
  ])('%j ends with %i', (argv, status) => {
    const ended = spawnSync(PROBE, argv, { encoding: 'utf8', timeout: 5000 })
    expect(ended.status, ended.stderr).toBe(status)
    expect(ended.stdout + ended.stderr).not.toBe('')
  })
})

describeNetns('the prober on a LAN', () => {
  let first = ''
  let second = ''
  let client = ''

  /**
   * Adds or removes the VIP on a host, and also removes the client's neighbour entry. The removed entry stands in for the announcement of a
   * real holder.
   */
  const move = (action: 'add' | 'del', host: string) => {
    ip(host, `addr ${action} ${VIP}/32 dev eth0`)
    if (action === 'add') ip(client, `neigh flush to ${VIP}`)
  }
  const event = (talker: Talker, name: string): readonly Said[] => talker.said.filter((line) => line.event === name)

  async function started(host: string, ...argv: readonly string[]): Promise<Talker> {
    const talker = new Talker(host, [PROBE, ...argv])
    await talker.line('start', (line) => line.event === 'start')
    return talker
  }

  async function stopped(talker: Talker): Promise<Said> {
    talker.signal('SIGTERM')
    expect(await talker.ended).toEqual({ code: 0, signal: null })
    return event(talker, 'summary')[0] ?? {}
  }

  beforeAll(async () => {
    const hub = makeNamespace()
    ip(hub, 'link add br0 type bridge')
    ip(hub, 'link set br0 up')
    const hosts = [1, 2, 3].map((host) => {
      const name = makeNamespace()
      ip(hub, `link add port${host} type veth peer name eth0 netns ${name}`)
      ip(hub, `link set port${host} master br0 up`)
      ip(name, 'link set eth0 up')
      ip(name, `addr add 198.51.100.${host}/24 dev eth0`)
      return name
    })
    ;[first = '', second = '', client = ''] = hosts
    await started(first, 'respond', 'r1', '9000', '--fifo')
    await started(second, 'respond', 'r2', '9000', '--fifo')
  })
  afterAll(removeAll)

  test('an outage of a second is one gap of a second, and the new holder is named', async () => {
    move('add', first)
    const prober = await started(client, 'probe', VIP, '9000')
    await prober.line('r1', ({ name }) => name === 'r1')
    await sleep(200)
    const goneAt = monotonicMs()
    move('del', first)
    await sleep(OUTAGE)
    move('add', second)
    const backAt = monotonicMs()
    await prober.line('r2', ({ name }) => name === 'r2')
    await sleep(100)
    const summary = await stopped(prober)
    move('del', second)

    const gaps = event(prober, 'gap')
    expect(gaps, JSON.stringify(gaps)).toHaveLength(1)
    const [gap = {}] = gaps
    const wanted = backAt - goneAt
    expect(Number(gap.ms), `length of the gap in ms, for an outage of ${wanted} ms`).toBeGreaterThan(OUTAGE - 50)
    expect(Number(gap.ms), `length of the gap in ms, for an outage of ${wanted} ms`).toBeLessThan(wanted + LATE)
    expect(Number(gap.from)).toBeLessThan(backAt)
    expect(Number(gap.from)).toBeGreaterThan(goneAt - LATE)
    expect(Math.abs(Number(gap.lost) + Number(gap.missed) - Number(gap.ms)), JSON.stringify(gap)).toBeLessThan(100)
    expect(summary).toMatchObject({ longestGapMs: gap.ms, gaps: 1, duplicates: 0, strangers: 0 })
    expect(Number(summary.received) + Number(summary.lost)).toBe(summary.sent)
    expect(Object.keys(Object(summary.byName))).toEqual(['r1', 'r2'])
    expect(event(prober, 'holder').map(({ name }) => name)).toEqual(['r1', 'r2'])
  })

  test('without a lost probe no gap is reported, and each answer comes from the probed address', async () => {
    move('add', first)
    const prober = await started(client, 'probe', VIP, '9000', '--fifo')
    await sleep(500)
    const summary = await stopped(prober)
    move('del', first)
    expect(summary).toMatchObject({ lost: 0, duplicates: 0, strangers: 0, sendErrors: 0 })
    expect(Number(summary.received)).toBeGreaterThan(100)
    // The gaps here are late answers, not lost probes.
    expect(Number(summary.longestGapMs), JSON.stringify(event(prober, 'gap'))).toBeLessThan(LATE)
    expect(event(prober, 'gap')).toHaveLength(Number(summary.gaps))
  })

  test('an outage that has not ended is reported as an open gap', async () => {
    move('add', first)
    const prober = await started(client, 'probe', VIP, '9000')
    await prober.line('r1', ({ name }) => name === 'r1')
    move('del', first)
    await sleep(OUTAGE)
    const summary = await stopped(prober)
    expect(event(prober, 'gap')).toMatchObject([{ open: true }])
    expect(Number(summary.longestGapMs)).toBeGreaterThan(100)
  })

  test('if two hosts hold the address, both MACs and the duration of their answers are reported', async () => {
    move('add', first)
    const observer = await started(client, 'arp', 'eth0', VIP)
    await observer.line('one claim', ({ macs }) => Array.isArray(macs) && macs.length === 1)
    move('add', second)
    const from = monotonicMs()
    await sleep(OUTAGE)
    move('del', second)
    const overlap = monotonicMs() - from
    await sleep(50)
    const summary = await stopped(observer)
    move('del', first)
    expect(event(observer, 'claim').map(({ macs }) => (Array.isArray(macs) ? macs.length : -1))).toEqual([1, 2, 1])
    expect(
      Math.abs(Number(summary.overlapMs) - overlap),
      `overlap of ${overlap} ms, ${summary.overlapMs} told`,
    ).toBeLessThan(LATE)
    expect(Object.keys(Object(summary.byMac))).toHaveLength(2)
  })
})
