/** The API servers that haproxy.cfg gets: which nodes, in which order, and when a changed list is written. */
import { describe, expect, test } from 'vitest'
import type { PeerNode } from '../../../../src/cluster/decisions/engine/peers.ts'
import { type Backend, backendsOf, balancerValues } from '../../../../src/cluster/decisions/haproxy/backends.ts'
import { compared, NO_CANDIDATE, putInForce } from '../../../../src/cluster/decisions/haproxy/candidate.ts'
import { address } from '../../../../src/wire/address.ts'

const node = (name: string, ipv4: string | undefined, more: Partial<PeerNode> = {}): PeerNode => ({
  name,
  controlPlane: true,
  addresses: ipv4 === undefined ? {} : { ipv4: address(ipv4), ipv6: address('fd00::1') },
  ...more,
})
const backend = (host: string, at: string): Backend => ({ host, address: address(at), port: 6443 })

describe('the backends of HAProxy', () => {
  test('are the control plane nodes, sorted by address as text', () => {
    const peers = [
      node('m0', '10.0.0.20'),
      node('m1', '10.0.0.9'),
      node('m2', '10.0.0.100'),
      node('w0', '10.0.0.30', { controlPlane: false }),
    ]
    const { backends, problems } = backendsOf(peers, 'ipv4', 6443)
    expect(backends).toEqual([backend('m2', '10.0.0.100'), backend('m0', '10.0.0.20'), backend('m1', '10.0.0.9')])
    expect(problems).toEqual([])
    expect(backendsOf([node('m0', '10.0.0.20')], 'ipv6', 6443).backends).toEqual([backend('m0', 'fd00::1')])
  })

  test.each<readonly [string, PeerNode, string]>([
    ['without an address', node('m9', undefined), 'node m9: no usable address'],
    ['with the address of another node', node('m9', '10.0.0.20'), 'node m9: its address 10.0.0.20 is that of m0'],
    [
      'whose name would add a line to haproxy.cfg',
      node('m9\nserver evil', '10.0.0.21'),
      'node: cannot use "m9\\nserver evil", expected a name of letters, digits, "-" and "."',
    ],
  ])('do not have a node %s', (_, odd, problem) => {
    const { backends, problems } = backendsOf([odd, node('m0', '10.0.0.20')], 'ipv4', 6443)
    expect(backends).toEqual([backend('m0', '10.0.0.20')])
    expect(problems).toEqual([problem])
  })

  test('have the names that the template uses', () => {
    const ports = { apiPort: 6443, lbPort: 9445, statPort: 29_445 }
    expect(balancerValues([backend('m0', 'fd00::1')], 'ipv6', ports)).toEqual({
      LBConfig: {
        ApiPort: 6443,
        LbPort: 9445,
        StatPort: 29_445,
        FrontendAddr: '::',
        Backends: [{ Host: 'm0', Address: 'fd00::1', Port: 6443 }],
      },
    })
  })
})

describe('a changed list of backends', () => {
  const one = [backend('m0', '10.0.0.20')]
  const two = [...one, backend('m1', '10.0.0.21')]

  test('is due when three comparisons in a row give the same list', () => {
    let state = NO_CANDIDATE
    const due = [one, one, two, two, two].map((list) => {
      const step = compared(state, list)
      state = step.candidate
      return step.isDue
    })
    expect(due).toEqual([false, false, false, false, true])
  })

  test('stays due until it is in force, and the list in force ends every count', () => {
    const state = putInForce(one)
    const away = compared(compared(state, two).candidate, two).candidate
    expect(compared(away, one)).toEqual({ candidate: { ...state, seen: 0 }, isDue: false })
    expect(compared(away, two).isDue).toBe(true)
    expect(compared(compared(away, two).candidate, two).isDue).toBe(true)
    expect(compared(compared(away, one).candidate, two).isDue).toBe(false)
  })

  test('is due immediately if one comparison is enough', () => {
    expect(compared(NO_CANDIDATE, one, 1).isDue).toBe(true)
  })
})
