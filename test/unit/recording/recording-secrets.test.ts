/** Secrets that a recording must not contain, and a replay that does not notice their removal. */
import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import { messageStart, Secrets } from '../../../src/recording/secrets.ts'
import { AUTH_SIMPLE } from '../../../src/vrrp/packet.ts'
import { checksumHolds, checksumOf, wordSum } from '../../../src/wire/checksum.ts'

const YAML = `
version: 1
notify:
  webhook: { url: 'https://bob:hunter2@hooks.example/in?key=k3y', headers: { authorization: Bearer t0ken } }
healthchecks:
  - { name: web, http: 'https://localhost:6443/readyz', headers: { authorization: Basic dTpw }, body: needle }
  - { name: script, exec: [/bin/check, --token, s3cret], environment: { TOKEN: env-s3cret } }
  - { name: talk, tcp: '127.0.0.1:99', send: 'PASS s3nd', expect: { matches: 'w0rd.*' } }
virtualRouters:
  - name: one
    vrid: 1
    interface: eth0
    addresses: [10.0.0.1]
    version: 2
    authentication: { type: simple, password: s3cr3tpw }
    notify: { active: [/bin/told, --key, n0tify], change: [/bin/changed] }
  - name: two
    vrid: 2
    interface: eth0
    addresses: [10.0.0.2]
    version: 2
    authentication: { type: simple, password: another }
  - name: three
    vrid: 3
    interface: eth0
    addresses: [10.0.0.3]
    version: 2
    authentication: { type: simple, password: s3cr3tpw }
`
const HIDDEN = [
  'hunter2',
  'bob',
  'k3y',
  't0ken',
  'dTpw',
  'needle',
  's3cret',
  's3nd',
  'w0rd',
  's3cr3tpw',
  'n0tify',
  'another',
  'hooks.example/in',
  'readyz',
]

function config() {
  const parsed = parseConfig(YAML, 'test')
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems))
  return parsed.config
}

/** Version 2: VRID 1, priority 100, one address, and this password. */
function message(password: string, type = AUTH_SIMPLE): Uint8Array {
  const bytes = new Uint8Array(20)
  bytes.set([0x21, 1, 100, 1, type, 1, 0, 0, 10, 0, 0, 1])
  bytes.set(Buffer.from(password).subarray(0, 8), 12)
  const sum = checksumOf(wordSum(bytes))
  bytes.set([sum >> 8, sum & 255], 6)
  return bytes
}

const passwordIn = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(12)).toString('latin1').replace(/\0+$/, '')

describe('a configuration', () => {
  test('contains no secret, and everything else', () => {
    const hidden = JSON.stringify(new Secrets().config(config()))
    expect(HIDDEN.filter((secret) => hidden.includes(secret))).toEqual([])
    for (const kept of ['/bin/check', '/bin/told', 'localhost:6443', 'hooks.example', 'authorization'])
      expect(hidden).toContain(kept)
  })

  test('has one replacement for one secret', () => {
    const read: unknown = new Secrets().config(config())
    expect(read).toMatchObject({
      virtualRouters: [
        { authentication: { password: 'pass-1' } },
        { authentication: { password: 'pass-2' } },
        { authentication: { password: 'pass-1' } },
      ],
    })
    const secrets = new Secrets()
    expect(secrets.config(config())).toEqual(secrets.config(config()))
  })
})

describe('a packet of version 2', () => {
  const secrets = new Secrets()
  secrets.config(config())

  test('has the replacement of its password, and a right checksum stays right', () => {
    const hidden = secrets.packet(message('s3cr3tpw'))
    expect(passwordIn(hidden)).toBe('pass-1')
    expect(checksumHolds(wordSum(hidden))).toBe(true)
    // The packet of an engine with the replacement as its password, octet by octet.
    expect(Buffer.from(hidden).toString('hex')).toBe(Buffer.from(message('pass-1')).toString('hex'))
  })

  test('with a wrong checksum keeps a wrong checksum', () => {
    const wrong = message('s3cr3tpw')
    wrong[7] = (wrong[7] ?? 0) ^ 1
    expect(checksumHolds(wordSum(secrets.packet(wrong)))).toBe(false)
  })

  test('is found behind an IPv4 header', () => {
    const packet = Uint8Array.from([0x46, ...new Array<number>(23).fill(0), ...message('another')])
    const hidden = secrets.packet(packet, messageStart('ipv4', packet))
    expect(passwordIn(hidden.subarray(24))).toBe('pass-2')
    expect(Buffer.from(packet).toString('latin1'), 'the packet itself is left as it is').toContain('another')
  })

  test('of another sender, or of a wrong length, contains no password', () => {
    for (const bytes of [
      message('unknown'),
      Uint8Array.from([...message('unknown'), 0x78, 0x79]),
      message('unknown').subarray(0, 18),
      message('unknown', 0),
    ]) {
      const hidden = Buffer.from(secrets.packet(bytes)).toString('latin1')
      expect(hidden).not.toContain('strang')
      expect(hidden).toHaveLength(bytes.length)
    }
  })

  test('without a password is unchanged', () => {
    const bytes = message('')
    expect(secrets.packet(bytes)).toBe(bytes)
  })
})

test('a packet of version 3 is unchanged', () => {
  const bytes = Uint8Array.from([0x31, 1, 100, 1, 0, 100, 0x12, 0x34, 10, 0, 0, 1])
  expect(new Secrets().packet(bytes)).toBe(bytes)
})
