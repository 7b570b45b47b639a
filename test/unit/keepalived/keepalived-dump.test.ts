/** The dumps: the lines of keepalived 2.2.7 that other programs read, from a daemon in each of its states. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RouterSnapshot } from '../../../src/daemon/telemetry/snapshot.ts'
import { replaceFile } from '../../../src/files/fresh-file.ts'
import { type Dumped, keepalivedDump } from '../../../src/keepalived/dump.ts'
import { FakeWorld } from '../daemon/fake-world.ts'

function dumped(change: Partial<RouterSnapshot> = {}): Dumped {
  const world = new FakeWorld().start()
  const snapshot = world.daemon.snapshot()
  const routers = snapshot.routers.map((router, i) => (i === 0 ? { ...router, ...change } : router))
  return { snapshot: { ...snapshot, routers }, config: world.daemon.config }
}

const data = (change: Partial<RouterSnapshot> = {}): string => keepalivedDump('data', dumped(change))

describe('keepalived.data', () => {
  test.each([
    ['Active', [], 'MASTER'],
    ['Leaving', [], 'MASTER'],
    ['Backup', [], 'BACKUP'],
    ['Returning', [], 'BACKUP'],
    ['Initialize', ['linkDown'], 'FAULT'],
    ['Initialize', ['healthcheckUndecided:lb', 'linkDown'], 'FAULT'],
    // A probe that looks for FAULT must not restart a pod that is just starting.
    ['Initialize', ['healthcheckUndecided:lb'], 'INIT'],
  ] as const)('%s %j is %s', (state, faults, word) => {
    const text = data({ state, faults })
    expect(text).toMatch(new RegExp(`^ VRRP Instance = \\S+\\n(?:   .*\\n)*?   State = ${word}$`, 'm'))
    expect(text.match(/^ {3}State = /gm)?.length).toBe(1)
    for (const fault of faults) expect(text).toContain(`   Fault reason = ${fault}\n`)
  })

  test('an instance has the lines that exporters look for', () => {
    const text = data({
      name: 'api',
      state: 'Active',
      interface: 'eth0',
      group: 'G',
      vrid: 51,
      version: 2,
      family: 'ipv4',
      source: '10.0.0.11',
      since: '2026-11-22T02:13:21.649Z',
      priority: { base: 40, effective: 68 },
      advertisementIntervalMs: 1000,
    })
    const from = text.indexOf(' VRRP Instance = api\n')
    const lines = text.slice(from).split('\n')
    for (const line of [
      '   VRRP Version = 2',
      '   Sync group = G',
      '   Wantstate = MASTER',
      '   Last transition = 1795313601.649000 (2026-11-22T02:13:21.649Z)',
      '   Interface = eth0',
      '   Using src_ip = 10.0.0.11',
      '   Virtual Router ID = 51',
      '   Priority = 40',
      '   Effective priority = 68',
      '   Advert interval = 1 sec',
    ])
      expect(lines).toContain(line)
  })

  test('addresses are shown as they are installed, with network, interface and label; excluded ones are apart', () => {
    const addresses = [
      '192.0.2.100/24',
      { address: '192.0.2.101', label: 'vip' },
      { address: '198.51.100.9/24', interface: 'eth1' },
    ]
    const router = (profile: string) => ({
      name: 'api',
      vrid: 51,
      interface: 'eth0',
      profile,
      addresses,
      excludedAddresses: ['192.0.2.102/25', '2001:db8::100/64', { address: '2001:db8::101', interface: 'eth1' }],
    })
    const lines = (profile: string, set: readonly string[]) => {
      const world = new FakeWorld([router(profile)]).start()
      const { config } = world.daemon
      const snapshot = world.daemon.snapshot()
      const routers = snapshot.routers.map((each) => ({
        ...each,
        addresses: each.addresses.map(({ address }) => ({ address, present: set.includes(address) })),
      }))
      const text = keepalivedDump('data', { snapshot: { ...snapshot, routers }, config })
      return text
        .slice(text.indexOf('   Virtual IP'))
        .split('\n')
        .filter((line) => / dev |Virtual/.test(line))
    }
    expect(lines('keepalived', ['192.0.2.101', '2001:db8::100'])).toEqual([
      '   Virtual IP (3):',
      '     192.0.2.100/24 dev eth0 scope global',
      '     192.0.2.101 dev eth0 scope global label vip set',
      '     198.51.100.9/24 dev eth1 scope global',
      '   Virtual IP Excluded :',
      '     192.0.2.102/25 dev eth0 scope global',
      '     2001:db8::100/64 dev eth0 scope global deprecated set',
      '     2001:db8::101 dev eth1 scope global deprecated',
    ])
    expect(lines('holdfast', []), 'where a prefix selects the network alone').toContain(
      '     192.0.2.100 dev eth0 scope global',
    )
  })

  test('a Backup names the router that it follows', () => {
    const holder = { self: false, address: '10.0.0.12', priority: 90, heardMsAgo: 5 }
    const text = data({ state: 'Backup', holder })
    expect(text).toContain('   Master router = 10.0.0.12\n   Master priority = 90\n')
    expect(text).not.toContain('Using Native IPv6')
    expect(data({ family: 'ipv6', advertisementIntervalMs: 500 })).toMatch(
      /Native IPv6[\s\S]*Advert interval = 500 milli-sec/,
    )
  })

  test('a dump without routers has the head, so that the file is not empty', () => {
    const { snapshot, config } = dumped()
    const text = keepalivedDump('data', { snapshot: { ...snapshot, routers: [], groups: [] }, config })
    expect(text).toContain('------< Global definitions >------\n Router ID = ')
    expect(text).not.toContain('VRRP Instance')
  })
})

describe('keepalived.stats', () => {
  test('every number of the statistics is one of the counters', () => {
    const { counters } = dumped().snapshot.routers[0] ?? {}
    if (counters === undefined) throw new Error('no router')
    const step = { reason: 'x', count: 2 }
    const text = keepalivedDump(
      'stats',
      dumped({
        name: 'api',
        counters: {
          ...counters,
          received: 7,
          receivedZero: 3,
          sent: { advertisement: 11, priorityZero: 2 },
          discarded: { length: 1, truncated: 1, ttl: 4, 'ttl-range': 1, type: 6, 'auth-data': 8, 'auth-type': 9 },
          warnings: { 'interval-mismatch': 5, 'address-list-mismatch': 12 },
          transitions: [
            { from: 'Backup', to: 'Active', ...step },
            { from: 'Active', to: 'Backup', ...step },
            { from: 'Active', to: 'Leaving', ...step },
            { from: 'Initialize', to: 'Backup', ...step },
          ],
        },
      }),
    )
    expect(text).toBe(`VRRP Instance: api
  Advertisements:
    Received: 7
    Sent: 11
  Became master: 2
  Released master: 4
  Packet Errors:
    Length: 2
    TTL: 5
    Invalid Type: 6
    Advertisement Interval: 5
    Address List: 12
  Authentication Errors:
    Invalid Type: 0
    Type Mismatch: 9
    Failure: 8
  Priority Zero:
    Received: 3
    Sent: 2
`)
  })
})

describe('the file', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'hf-dump-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  test('the dump replaces the file as a whole, readable by the daemon only', async () => {
    const path = join(folder, 'keepalived.data')
    writeFileSync(path, 'State = FAULT\n', { mode: 0o666 })
    const before = statSync(path).ino
    await replaceFile(path, 'new\n')
    expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['new\n', 0o600])
    expect(statSync(path).ino).not.toBe(before)
    expect(readdirSync(folder)).toEqual(['keepalived.data'])
  })

  test('the dump replaces a link, and does not touch its target', async () => {
    const target = join(folder, 'shadow')
    writeFileSync(target, 'precious')
    symlinkSync(target, join(folder, 'keepalived.data'))
    await replaceFile(join(folder, 'keepalived.data'), 'new\n')
    expect([readFileSync(target, 'utf8'), readFileSync(join(folder, 'keepalived.data'), 'utf8')]).toEqual([
      'precious',
      'new\n',
    ])
  })

  test('a dump that cannot be written gives an error with the path, and leaves nothing behind', async () => {
    await expect(replaceFile(join(folder, 'none', 'x'), 'new')).rejects.toThrow(`Cannot write ${folder}/none/x: ENOENT`)
    await expect(replaceFile(folder, 'new')).rejects.toThrow(`Cannot write ${folder}: `)
    expect(readdirSync(folder)).toEqual([])
  })
})
