/**
 * `holdfast resolv-prepender` on the files of a folder. Programs in place of systemctl and nmcli write down their calls,
 * and tell whether systemd-resolved is enabled.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DONE, NM_RESOLV_CONF, RESOLV_CONF, RESOLVED_FILE } from '../../../src/cluster/runtime/dns/resolv-prepender.ts'
import { HOLDFAST } from '../../../src/lab/lab.ts'

const DOMAIN = 'ostest.example.com'
let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hf-prepender-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const write = (file: string, text: string) => {
  mkdirSync(dirname(join(root, file)), { recursive: true })
  writeFileSync(join(root, file), text)
}
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const calls = (): string[] => (existsSync(join(root, 'calls')) ? read('calls').trimEnd().split('\n') : [])

/** Puts programs in the place of systemctl and nmcli. `failing`: words with which a call fails. */
function programs(failing: string): void {
  for (const name of ['systemctl', 'nmcli']) {
    write(
      `bin/${name}`,
      `#!/bin/sh\necho "${name} $*" >>'${root}/calls'\ncase "${name} $*" in ${failing}) exit 1 ;; esac\n`,
    )
    chmodSync(join(root, 'bin', name), 0o755)
  }
}

const start = (...more: readonly string[]) =>
  spawn(HOLDFAST, ['resolv-prepender', '--root', root, '--domain', DOMAIN, '--node-address', '10.0.0.11', ...more], {
    env: { ...process.env, PATH: `${root}/bin:${process.env.PATH}`, IP4_DOMAINS: 'lan', IP6_DOMAINS: 'lan six' },
  })

async function run(...more: readonly string[]): Promise<{ code: unknown; output: string }> {
  const child = start(...more)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (output += `${bytes}`))
  const [code] = await once(child, 'close')
  return { code, output }
}

describe('without systemd-resolved', () => {
  beforeEach(() => {
    programs('*is-enabled*')
    write(NM_RESOLV_CONF, 'search lan\nnameserver 10.0.0.1\n')
    write(RESOLV_CONF, 'nameserver 10.0.0.1\n')
  })

  test('resolv.conf gets the node first, NetworkManager is called, and a second run changes nothing', async () => {
    expect((await run()).code).toBe(0)
    expect(read(RESOLV_CONF)).toContain(`search ${DOMAIN} lan\nnameserver 10.0.0.11\nnameserver 10.0.0.1\n`)
    expect(existsSync(join(root, DONE))).toBe(true)
    expect(calls()).toEqual(['systemctl -q is-enabled systemd-resolved', 'nmcli general reload dns-rc'])
    const before = statSync(join(root, RESOLV_CONF))
    expect(await run()).toEqual({ code: 0, output: 'nothing changed\n' })
    const after = statSync(join(root, RESOLV_CONF))
    expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs])
    expect(calls().filter((call) => call.startsWith('nmcli'))).toHaveLength(1)
  })

  test('a link to the file of NetworkManager is replaced by a file, and that file stays as it is', async () => {
    rmSync(join(root, RESOLV_CONF))
    symlinkSync(join(root, NM_RESOLV_CONF), join(root, RESOLV_CONF))
    expect((await run()).code).toBe(0)
    expect(read(RESOLV_CONF)).toContain('nameserver 10.0.0.11')
    expect(read(NM_RESOLV_CONF)).toBe('search lan\nnameserver 10.0.0.1\n')
  })

  test('if NetworkManager cannot be called, kubelet goes on waiting, and the next run repeats the call', async () => {
    programs('*is-enabled* | nmcli*')
    expect((await run()).code).toBe(1)
    expect(existsSync(join(root, DONE))).toBe(false)
    programs('*is-enabled*')
    expect((await run()).code).toBe(0)
    expect(existsSync(join(root, DONE))).toBe(true)
    expect(calls().filter((call) => call.startsWith('nmcli'))).toHaveLength(2)
  })

  test('the command waits for a server of NetworkManager', async () => {
    write(NM_RESOLV_CONF, 'search lan\n')
    const child = start()
    const [line] = await once(child.stderr, 'data')
    expect(String(line)).toContain('names no server yet')
    expect(read(RESOLV_CONF)).toBe('nameserver 10.0.0.1\n')
    write(NM_RESOLV_CONF, 'nameserver 10.0.0.1\n')
    expect((await once(child, 'close'))[0]).toBe(0)
    expect(read(RESOLV_CONF)).toContain('nameserver 10.0.0.11')
  })
})

describe('with systemd-resolved', () => {
  beforeEach(() => {
    programs('never')
    write(NM_RESOLV_CONF, 'nameserver 10.0.0.1\n')
    write(RESOLV_CONF, 'nameserver 127.0.0.53\n')
  })

  test('its file gets server and domains, it is restarted once, and resolv.conf stays', async () => {
    expect((await run()).code).toBe(0)
    expect(read(RESOLVED_FILE)).toBe(`[Resolve]\nDNS=10.0.0.11\nDomains=${DOMAIN} lan six\n`)
    expect(read(RESOLV_CONF)).toBe('nameserver 127.0.0.53\n')
    expect(await run()).toEqual({ code: 0, output: 'nothing changed\n' })
    expect(calls().filter((call) => call.includes('restart'))).toEqual(['systemctl restart systemd-resolved'])
  })

  test('a run that was interrupted before the restart is repeated', async () => {
    expect((await run()).code).toBe(0)
    rmSync(join(root, DONE))
    expect((await run()).code).toBe(0)
    expect(calls().filter((call) => call.includes('restart'))).toHaveLength(2)
    expect(existsSync(join(root, DONE))).toBe(true)
  })
})

test('wrong values are refused before anything is written', async () => {
  programs('never')
  expect(await run('--domain', 'bad_name')).toMatchObject({ code: 64, output: expect.stringContaining('--domain') })
  expect(await run('--node-address', 'x')).toMatchObject({
    code: 64,
    output: expect.stringContaining('--node-address'),
  })
  expect(existsSync(join(root, 'etc'))).toBe(false)
})
