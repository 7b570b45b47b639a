/** Warnings of `holdfast check` about weights: moves that never happen, and moves that take long, with their parts. */
import { describe, expect, test } from 'vitest'
import { formatProblem } from '../../src/config/problem.ts'
import { trackAdvice } from '../../src/config/track-advice.ts'
import { parseConfig } from '../../src/config/yaml.ts'
import { address } from '../../src/wire/address.ts'

const QUICK = 'interval: 100ms, timeout: 100ms'
const WEB = `name: web, http: "http://localhost/", ${QUICK}`
const FAST = 'advertisementInterval: 100ms'

function advice(keys: string, checks: readonly string[] = [WEB], rest = '', own?: string): string[] {
  const text =
    `healthchecks:\n${checks.map((each) => `  - { ${each} }\n`).join('')}virtualRouters:\n` +
    `  - { name: a, vrid: 1, interface: eth0, addresses: [10.0.0.200], ${keys} }\n${rest}`
  const parsed = parseConfig(text)
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  const addresses = own === undefined ? [] : [{ address: address(own), prefixLength: 24 }]
  const node = { interfaces: own === undefined ? [] : [{ name: 'eth0', addresses }] }
  return trackAdvice(parsed.config, parsed.locate, node).warnings.map(({ message }) => message)
}

const track = (weight: number, more = '') => `${FAST}, track: [{ healthcheck: web, weight: ${weight} }]${more}`

describe('moves that never happen', () => {
  test('equal nodes: any weight moves', () => {
    expect(advice(track(50, ', priority: 40'))).toEqual([])
    expect(advice(track(-1))).toEqual([])
  })

  test('a weight smaller than the distance to the peers', () => {
    const peers = 'peers: [{ address: 10.0.0.12, priority: 90 }]'
    expect(advice(track(-5, `, priority: 100, ${peers}`))).toEqual([
      '1 of 2 results never move the addresses of "a": web down (95); a peer has 90 at best ' +
        '(peers are taken to have the priority that is listed, and the same checks)',
    ])
    expect(advice(track(-11, `, priority: 100, ${peers}`))).toEqual([])
    // The peer gains as much by its own check.
    expect(advice(track(50, `, priority: 100, ${peers}`))).toEqual([])
    expect(advice(track(10, `, priority: 100, ${peers}`))).toEqual([
      expect.stringContaining('web down (100); a peer has 100 at best'),
    ])
  })

  test('on the node itself its own entry is nobody to compare with', () => {
    const peers = 'peers: [{ address: 10.0.0.11, priority: 100 }, { address: 10.0.0.12, priority: 90 }]'
    expect(advice(track(-5, `, priority: 100, ${peers}`), [WEB], '', '10.0.0.11')).toHaveLength(1)
  })

  test('what clamping takes away', () => {
    expect(
      advice(`${FAST}, priority: 250, track: [{ healthcheck: web, weight: 50 }, { interface: eth1, weight: 50 }]`),
    ).toEqual([
      expect.stringMatching(
        /^2 of 4 results never move .*: (web|eth1) down \(254\), (web|eth1) down \(254\); a peer has 254 at best \(all nodes are taken to be alike\)$/,
      ),
    ])
  })

  test('a weight within the margin', () => {
    expect(advice(track(-5, ', margin: 5'))).toEqual([
      '1 of 2 results never move the addresses of "a": web down (95); a peer has 100 at best, and "margin" wants 5 more ' +
        '(all nodes are taken to be alike)',
    ])
    expect(advice(track(-5, ', margin: 4'))).toEqual([])
  })

  test('many are counted', () => {
    const checks = ['b', 'c', 'd', 'e'].map((name) => `name: ${name}, file: /${name}, ${QUICK}`)
    const tracked = ['b', 'c', 'd', 'e'].map((name) => `{ healthcheck: ${name}, weight: -1 }`).join(', ')
    expect(advice(`${FAST}, margin: 9, track: [${tracked}]`, checks)).toEqual([
      expect.stringMatching(/^15 of 16 results never move .* and 12 more; a peer has 100 at best/),
    ])
  })

  test('faults always move, an owner never does by weight', () => {
    expect(advice(track(0))).toEqual([])
    expect(advice(track(-5, ', priority: 255'))).toEqual([])
  })

  test('preempt: false', () => {
    expect(advice(track(-5, ', preempt: false'))).toEqual([
      'The weights of "a" move nothing while its Active lives: with "preempt: false" no Backup takes over from it, ' +
        'whatever its priority, and only what is tracked with weight 0 does',
    ])
    expect(advice(track(0, ', preempt: false'))).toEqual([])
  })

  test('a member is judged by what its group tracks', () => {
    const group = 'syncGroups:\n  - { name: g, members: [a], track: [{ healthcheck: web, weight: -5 }] }\n'
    expect(advice(`${FAST}, preempt: false`, [WEB], group)).toEqual([
      expect.stringContaining('The weights of "a" move nothing'),
    ])
  })
})

describe('the slowest path', () => {
  const slow = (keys: string, check: string) => advice(`${keys}`, [`name: web, ${check}`])
  // 1 s of interval: Skew_Time of 90 is 166/256 s.
  const OURS = 'priority: 40, track: [{ healthcheck: web, weight: 50 }]'

  test('names the parts of the sum', () => {
    expect(slow(OURS, 'http: "http://localhost/", timeout: 900ms, fall: 2')).toEqual([
      'The addresses of "a" may take 3.57s to move when "web" fails without a sign: 1.1s until the next poll (interval ' +
        'and jitter) + 1.8s 2 times the timeout (fall) + 22ms fastInterval + 648ms Skew_Time of the successor; a ' +
        'connection that ends is noticed at once',
    ])
  })

  test('without fastPreempt it is Active_Down_Interval', () => {
    expect(slow(`${OURS}, fastPreempt: false`, `tcp: "a:1", ${QUICK}`)).toEqual([
      'The addresses of "a" may take 3.86s to move when "web" fails without a sign: 110ms until the next poll (interval ' +
        'and jitter) + 100ms timeout + 3.65s Active_Down_Interval of the successor; a connection that ends is noticed at once',
    ])
    expect(slow(`${OURS}, preemptDelay: 5s`, `tcp: "a:1", ${QUICK}`)).toEqual([
      expect.stringContaining('+ 5s preemptDelay + 3.65s'),
    ])
  })

  test('a fault needs neither', () => {
    expect(slow('fastPreempt: false, track: [{ healthcheck: web }]', `tcp: "a:1", ${QUICK}`)).toEqual([])
  })

  test('stagger counts', () => {
    const peers = 'peers: [10.0.0.12, 10.0.0.13, 10.0.0.14]'
    expect(slow(`${OURS}, ${peers}`, 'tcp: "a:1"')).toEqual([expect.stringContaining('+ 6ms stagger;')])
  })

  test('of a combination the slowest member', () => {
    const checks = [
      `name: quick, file: /x, ${QUICK}`,
      'name: slow, file: /y, interval: 5s',
      'name: web, any: [quick, slow]',
    ]
    expect(advice(`${FAST}, track: [{ healthcheck: web, weight: 5 }]`, checks)).toEqual([
      expect.stringContaining('may take 5.56s to move when "slow" fails without a sign: 5.5s until the next poll'),
    ])
    expect(advice(`${FAST}, track: [{ healthcheck: web, weight: 5 }]`, checks)[0]).toMatch(
      /; the kernel usually tells of a change at once$/,
    )
  })

  test('within a second nothing is said', () => {
    expect(slow(`${OURS}, ${FAST}`, `tcp: "a:1", ${QUICK}`)).toEqual([])
  })
})
