/** The ports that another program has: the tables of the kernel, and the ports of haproxy.cfg. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { boundSockets } from '../../../src/cluster/decisions/bound-sockets.ts'
import { bindPorts, takenPorts } from '../../../src/cluster/decisions/haproxy/taken-ports.ts'

const TEMPLATE = join(import.meta.dirname, '..', '..', '..', 'deploy', 'haproxy', 'haproxy.cfg.tmpl')

describe('the sockets that have a port', () => {
  const line = (local: string, remote: string) =>
    `   1: ${local} ${remote} 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0\n`

  test('are those that wait there, with address and inode', () => {
    expect(boundSockets(line('0100007F:24E5', '00000000:0000'), 9445)).toEqual([
      { address: '127.0.0.1', inode: '4711' },
    ])
    expect(boundSockets(line('00000000:24E6', '00000000:0000'), 9445)).toEqual([])
    const zero = '0'.repeat(32)
    expect(boundSockets(line(`${zero}:24E5`, `${zero}:0000`), 9445)).toEqual([{ address: '::', inode: '4711' }])
    const loopback = `${'0'.repeat(24)}01000000`
    expect(boundSockets(line(`${loopback}:24E5`, `${zero}:0000`), 9445)).toMatchObject([{ address: '::1' }])
  })

  test('do not include connections from this port to a server', () => {
    expect(boundSockets(line('0100007F:24E5', '0100007F:D431'), 9445)).toEqual([])
  })
})

describe('the ports of HAProxy that another program has', () => {
  test('are looked for at each bind line of haproxy.cfg', () => {
    const text = readFileSync(TEMPLATE, 'utf8').replaceAll(/\{\{ \.LBConfig\.LbPort \}\}/g, '9445')
    expect(bindPorts(text.replaceAll(/\{\{ \.LBConfig\.StatPort \}\}/g, '29445'))).toEqual([9445, 9444, 9454, 29_445])
    expect(
      bindPorts('frontend x\n  bind :::70\n  # bind :::71\n  server own 127.0.0.1:72\n  bind 10.0.0.1:73 v4v6'),
    ).toEqual([70, 73])
  })

  test('are none if no port or each port is in use: then HAProxy does not run, or it runs and does not answer', () => {
    const ports = [9445, 9444, 9454]
    expect(takenPorts(ports, () => false)).toEqual([])
    expect(takenPorts(ports, () => true)).toEqual([])
    expect(takenPorts(ports, (port) => port === 9445)).toEqual([9445])
    expect(takenPorts(ports, (port) => port !== 9445)).toEqual([9444, 9454])
  })
})
