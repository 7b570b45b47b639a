/** The processes with sockets for VRRP, on a /proc of files and links, and the messages that follow. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockedText, tell } from '../../../src/app/machine/vrrp-beside.ts'
import { vrrpSocketHolders } from '../../../src/linux/process/vrrp-socket-holder.ts'

let proc = ''
beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), 'hf-proc-'))
})
afterEach(() => rmSync(proc, { recursive: true, force: true }))

const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops'
const row = (protocol: string, inode: number) =>
  `  112: 00000000:${protocol} 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 ${inode} 2 0000000000000000 0`

/** `raw`: the list that its network namespace shows. `fds`: `undefined` if they may not be read. */
type Process = { comm: string; raw: readonly string[]; fds?: readonly string[]; exe?: string }

function place(pid: number | 'self', { comm, raw, fds, exe }: Process): void {
  const folder = join(proc, String(pid))
  mkdirSync(join(folder, 'net'), { recursive: true })
  writeFileSync(join(folder, 'comm'), `${comm}\n`)
  writeFileSync(join(folder, 'net', 'raw'), [HEAD, ...raw, ''].join('\n'))
  writeFileSync(join(folder, 'net', 'raw6'), `${HEAD}\n`)
  if (exe !== undefined) symlinkSync(exe, join(folder, 'exe'))
  if (fds === undefined) return
  mkdirSync(join(folder, 'fd'))
  for (const [index, target] of fds.entries()) symlinkSync(target, join(folder, 'fd', String(index)))
}

const HERE = [row('0070', 100), row('0070', 101), row('0001', 102)]
const look = (own: readonly number[] = []) => vrrpSocketHolders(own, proc)

test('without a VRRP socket no process is read', () => {
  place('self', { comm: 'node', raw: [row('0001', 102)] })
  place(7, { comm: 'keepalived', raw: [row('0001', 102)] })
  expect(look()).toEqual({ holders: [], closed: [], unseen: 0 })
})

test('a process with a VRRP socket is named, one with another protocol and our own are not', () => {
  place('self', { comm: 'node', raw: HERE })
  place(7, { comm: 'keepalived', raw: HERE, fds: ['/dev/null', 'socket:[100]', 'socket:[55]'] })
  place(8, { comm: 'ping', raw: HERE, fds: ['socket:[102]'] })
  place(9, { comm: 'keepalived', raw: HERE, fds: ['socket:[55]'] })
  place(10, { comm: 'holdfast-guardi', raw: HERE, fds: ['socket:[101]'] })
  expect(look([10])).toEqual({ holders: [{ pid: 7, name: 'keepalived' }], closed: [], unseen: 0 })
})

test('a process with another name is recognised by its binary', () => {
  place('self', { comm: 'node', raw: HERE })
  place(7, { comm: 'vip', raw: HERE, fds: ['socket:[100]'], exe: '/usr/sbin/keepalived' })
  place(8, { comm: 'vrrpd', raw: HERE, fds: ['socket:[101]'], exe: '/usr/lib/frr/vrrpd' })
  // A guardian in the place of keepalived (docs/adr/0030).
  place(9, { comm: 'keepalived', raw: HERE, fds: ['socket:[101]'], exe: '/opt/native/holdfast-guardian' })
  expect(look().holders).toEqual([
    { pid: 7, name: 'keepalived' },
    { pid: 8, name: 'vrrpd' },
    { pid: 9, name: 'holdfast-guardian' },
  ])
})

test('a keepalived that may not be read counts only in this network namespace', () => {
  place('self', { comm: 'node', raw: HERE })
  place(7, { comm: 'keepalived_vrrp', raw: HERE })
  place(8, { comm: 'keepalived', raw: [row('0070', 900)] })
  place(9, { comm: 'nginx', raw: HERE })
  expect(look()).toEqual({ holders: [], closed: [{ pid: 7, name: 'keepalived_vrrp' }], unseen: 2 })
})

const KEEPALIVED = { pid: 7, name: 'keepalived' }
const NONE = { holders: [], closed: [], unseen: 0 }

test('keepalived is a reason not to run, and the message says what to do', () => {
  const { refusal, warnings, keepalived } = tell({ ...NONE, holders: [KEEPALIVED] })
  expect(refusal).toBe(
    'Cannot run: keepalived (pid 7) speaks VRRP in this network namespace: stop it first (systemctl disable --now keepalived), or remove VRRP from its configuration; --force runs anyway',
  )
  expect(warnings).toEqual(['keepalived (pid 7) speaks VRRP in this network namespace; running because of --force'])
  expect(keepalived).toEqual([KEEPALIVED])
})

test('incomplete evidence is reported as probable', () => {
  expect(tell({ ...NONE, closed: [KEEPALIVED], unseen: 2 }).refusal).toMatch(
    /^Cannot run: keepalived \(pid 7\) probably speaks VRRP in this network namespace \(the process cannot be examined,/,
  )
  expect(tell({ ...NONE, closed: [KEEPALIVED] }), 'every socket belongs to somebody else').toMatchObject({
    refusal: undefined,
    warnings: [],
  })
  expect(tell({ ...NONE, unseen: 1 })).toMatchObject({
    refusal: undefined,
    warnings: ['A process that cannot be seen from here has a VRRP socket in this network namespace'],
  })
})

test('another VRRP daemon is a warning', () => {
  expect(tell({ ...NONE, holders: [{ pid: 8, name: 'vrrpd' }] })).toMatchObject({
    refusal: undefined,
    keepalived: [],
    warnings: ['vrrpd (pid 8) also speaks VRRP in this network namespace'],
  })
})

test('the holder of the lock is named if it can be seen', () => {
  expect(lockedText({ pid: 9, uid: 1000 })).toMatch(/it holds the socket @holdfast: pid 9, user 1000\)$/)
  expect(lockedText(undefined)).toMatch(/it holds the socket @holdfast\)$/)
})
