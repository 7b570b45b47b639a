/** Warnings of `holdfast check` about weights: moves that never happen, and the parts of moves that take long. */
import { describe, expect, test } from 'vitest'
import { trackAdvice } from '../../../src/config/advice/track-advice.ts'
import { formatProblem } from '../../../src/config/problem.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import { address } from '../../../src/wire/address.ts'

const QUICK = 'interval: 100ms, timeout: 100ms'
const WEB = `name: web, http: "http://localhost/", ${QUICK}`
const FAST = 'advertisementInterval: 100ms'

type Advice = readonly [keys: string, checks?: readonly string[], rest?: string, own?: string]

function told(...[keys, checks = [WEB], rest = '', own]: Advice) {
  const text =
    `healthchecks:\n${checks.map((each) => `  - { ${each} }\n`).join('')}virtualRouters:\n` +
    `  - { name: a, vrid: 1, interface: eth0, addresses: [10.0.0.200], ${keys} }\n${rest}`
  const parsed = parseConfig(text)
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  const addresses = own === undefined ? [] : [{ address: address(own), prefixLength: 24 }]
  const node = { interfaces: own === undefined ? [] : [{ name: 'eth0', addresses }] }
  return trackAdvice(parsed.config, parsed.locate, node)
}
const advice = (...words: Advice): string[] => told(...words).warnings.map(({ message }) => message)
const notes = (...words: Advice): string[] => told(...words).notes.map(({ message }) => message)

const track = (weight: number, more = '') => `${FAST}, track: [{ healthcheck: web, weight: ${weight} }]${more}`

describe('moves that never happen', () => {
  test('between equal nodes, any weight moves the addresses', () => {
    expect(advice(track(50, ', priority: 40'))).toEqual([])
    expect(advice(track(-1))).toEqual([])
  })

  test('a weight smaller than the distance to the peers gives a warning', () => {
    const peers = 'peers: [{ address: 10.0.0.12, priority: 90 }]'
    expect(advice(track(-5, `, priority: 100, ${peers}`))).toEqual([
      'weight -5 of web is too small: 95 is still above the best peer (90); use -11 or less',
    ])
    expect(advice(track(-11, `, priority: 100, ${peers}`))).toEqual([])
    // The peer gains as much by its own check.
    expect(advice(track(50, `, priority: 100, ${peers}`))).toEqual([])
    expect(advice(track(10, `, priority: 100, ${peers}`))).toEqual([
      'weight 10 of web is too small: 100 is still equal to the best peer (100); use 11 or more',
    ])
    expect(advice(track(11, `, priority: 100, ${peers}`))).toEqual([])
  })

  test('the weight that the warning advises moves the addresses', () => {
    const peers = 'peers: [{ address: 10.0.0.12, priority: 100 }, { address: 10.0.0.13, priority: 60 }]'
    expect(advice(track(-20, `, priority: 150, ${peers}`))).toEqual([
      'weight -20 of web is too small: 130 is still above the best peer (100); use -51 or less',
    ])
    expect(advice(track(-51, `, priority: 150, ${peers}`))).toEqual([])
    const far = 'peers: [{ address: 10.0.0.12, priority: 1 }]'
    expect(advice(track(-20, `, priority: 254, margin: 9, ${far}`))).toEqual([
      'weight -20 of web is too small: 234 is still above the best peer (1); no weight is enough: bring the base ' +
        'priorities closer together',
    ])
  })

  test('without priorities of peers, a note says that the weight cannot be judged, and no move is promised', () => {
    const slow = 'name: web, http: "http://localhost/", timeout: 1s, fall: 2'
    const one = 'priority: 150, track: [{ healthcheck: web, weight: -20 }]'
    for (const keys of [one, `${one}, peers: [10.0.0.12, 10.0.0.13]`]) {
      expect(advice(keys, [slow])).toEqual([])
      expect(notes(keys, [slow])).toEqual([
        'cannot tell whether weight -20 of web is enough: no peer priorities are listed',
      ])
    }
    expect(notes('priority: 150, track: [{ healthcheck: web }]', [slow])).toEqual([
      expect.stringMatching(/^The addresses of "a" may take 3.54s to move when "web" stops answering: /),
    ])
  })

  test('a peer list that contains this node gives a warning with a condition', () => {
    const all = [150, 120, 100].map((priority, i) => `{ address: 10.0.0.1${i + 1}, priority: ${priority} }`)
    const slow = 'name: web, http: "http://localhost/", timeout: 1s, fall: 2'
    const keys = (weight: number, list: readonly string[]) =>
      `priority: 150, track: [{ healthcheck: web, weight: ${weight} }], peers: [${list.join(', ')}]`
    expect(advice(keys(-20, all), [slow])).toEqual([
      'weight -20 of web is too small: 130 is still above the best peer (120); use -31 or less, if the listed peer with ' +
        'priority 150 is this node itself (use --node to find out)',
    ])
    expect(notes(keys(-20, all), [slow]), 'no move is promised').toEqual([])
    expect(advice(keys(-31, all), [slow])).toEqual([])
    expect(advice(keys(-20, all), [slow], '', '10.0.0.11')).toEqual([
      'weight -20 of web is too small: 130 is still above the best peer (120); use -31 or less',
    ])
    const equals = ['1', '2'].map((last) => `{ address: 10.0.0.1${last}, priority: 150 }`)
    expect(advice(keys(-20, equals), [slow])).toEqual([])
  })

  test('the priorities that another member of the sync group lists are used', () => {
    const other =
      '  - { name: b, vrid: 2, interface: eth0, addresses: [10.0.0.201], peers: [{ address: 10.0.0.12, priority: 90 }] }\n'
    const group = (weight: number) =>
      `${other}syncGroups:\n  - { name: g, members: [a, b], track: [{ healthcheck: web, weight: ${weight} }] }\n`
    expect(advice(FAST, [WEB], group(-20))).toEqual([])
    expect(notes(FAST, [WEB], group(-20))).toEqual([])
    expect(advice(FAST, [WEB], group(-5))).toHaveLength(1)
  })

  test('on the node itself, its own entry in the list is not compared', () => {
    const peers = 'peers: [{ address: 10.0.0.11, priority: 100 }, { address: 10.0.0.12, priority: 90 }]'
    expect(advice(track(-5, `, priority: 100, ${peers}`), [WEB], '', '10.0.0.11')).toHaveLength(1)
  })

  test('a weight without effect because of the limit 254 gives a warning', () => {
    expect(
      advice(`${FAST}, priority: 250, track: [{ healthcheck: web, weight: 50 }, { interface: eth1, weight: 50 }]`),
    ).toEqual(
      ['web', 'eth1'].map(
        (name) =>
          `weight 50 of ${name} is too small: 254 is still equal to the best peer (254); a sum above 254 counts as 254: ` +
          'use a lower base priority',
      ),
    )
  })

  test('a weight within the margin gives a warning', () => {
    expect(advice(track(-5, ', margin: 5'))).toEqual([
      'weight -5 of web is too small: 95 is still within the margin (5) of the best peer (100); use -6 or less',
    ])
    expect(advice(track(-5, ', margin: 4'))).toEqual([])
  })

  test('many warnings are cut to a number', () => {
    const checks = ['b', 'c', 'd', 'e'].map((name) => `name: ${name}, file: /${name}, ${QUICK}`)
    const tracked = ['b', 'c', 'd', 'e'].map((name) => `{ healthcheck: ${name}, weight: -1 }`).join(', ')
    expect(advice(`${FAST}, margin: 9, track: [${tracked}]`, checks)).toEqual([
      ...['b', 'c', 'd'].map((name) =>
        expect.stringContaining(`weight -1 of ${name} is too small: 99 is still within`),
      ),
      '1 more weights of "a" are too small',
    ])
  })

  test('a fault always moves the addresses; the weight of an address owner never does', () => {
    expect(advice(track(0))).toEqual([])
    expect(advice(track(-5, ', priority: 255'))).toEqual([])
  })

  test('preempt: false gives a warning about weights', () => {
    expect(advice(track(-5, ', preempt: false'))).toEqual([
      'The weights of "a" do not move the addresses: with "preempt: false", no Backup takes over from a working Active, whatever its priority. Use weight 0 to release the addresses when a check fails.',
    ])
    expect(advice(track(0, ', preempt: false'))).toEqual([])
  })

  test('a member is judged by the trackers of its group', () => {
    const group = 'syncGroups:\n  - { name: g, members: [a], track: [{ healthcheck: web, weight: -5 }] }\n'
    expect(advice(`${FAST}, preempt: false`, [WEB], group)).toEqual([
      expect.stringContaining(
        'The weights of "a" do not move the addresses: with "preempt: false", no Backup takes over from a working Active, whatever its priority. Use weight 0 to release the addresses when a check fails.',
      ),
    ])
  })
})

describe('the slowest path', () => {
  const slow = (keys: string, check: string) => notes(keys, [`name: web, ${check}`])
  // With an interval of 1 s, the Skew_Time of priority 90 is 166/256 s.
  const OURS = 'priority: 40, track: [{ healthcheck: web, weight: 50 }], peers: [{ address: 10.0.0.12, priority: 40 }]'

  test('the slowest path names the parts of its sum', () => {
    expect(slow(OURS, 'http: "http://localhost/", timeout: 900ms, fall: 2')).toEqual([
      'The addresses of "a" may take 3.57s to move when "web" stops answering: 1.1s until the next poll (interval ' +
        'and jitter) + 1.8s 2 times the timeout (fall) + 22ms fastInterval + 648ms Skew_Time of the successor; a ' +
        'connection that ends is noticed immediately',
    ])
  })

  test('the slowest path without fastPreempt has Active_Down_Interval', () => {
    expect(slow(`${OURS}, fastPreempt: false`, `tcp: "a:1", ${QUICK}`)).toEqual([
      'The addresses of "a" may take 3.86s to move when "web" stops answering: 110ms until the next poll (interval ' +
        'and jitter) + 100ms timeout + 3.65s Active_Down_Interval of the successor; a connection that ends is noticed immediately',
    ])
    expect(slow(`${OURS}, preemptDelay: 5s`, `tcp: "a:1", ${QUICK}`)).toEqual([
      expect.stringContaining('+ 5s preemptDelay + 3.65s'),
    ])
  })

  test('the slowest path of a fault needs no preemption', () => {
    expect(slow('fastPreempt: false, track: [{ healthcheck: web }]', `tcp: "a:1", ${QUICK}`)).toEqual([])
  })

  test('the slowest path has the stagger', () => {
    const peers = ['2', '3', '4'].map((last) => `{ address: 10.0.0.1${last}, priority: 40 }`).join(', ')
    expect(slow(OURS.replace(/peers: .*/, `peers: [${peers}]`), 'tcp: "a:1"')).toEqual([
      expect.stringContaining('+ 6ms stagger;'),
    ])
  })

  test('the slowest path of a combination is that of its slowest member', () => {
    const checks = [
      `name: quick, file: /x, ${QUICK}`,
      'name: slow, file: /y, interval: 5s',
      'name: web, any: [quick, slow]',
    ]
    const keys = `${FAST}, track: [{ healthcheck: web, weight: 5 }], peers: [{ address: 10.0.0.12, priority: 100 }]`
    expect(notes(keys, checks)).toEqual([
      expect.stringContaining('may take 5.56s to move when "slow" stops answering: 5.5s until the next poll'),
    ])
    expect(notes(keys, checks)[0]).toMatch(/; the kernel usually reports a change immediately$/)
  })

  test('a path below one second gives no note', () => {
    expect(slow(`${OURS}, ${FAST}`, `tcp: "a:1", ${QUICK}`)).toEqual([])
  })
})
