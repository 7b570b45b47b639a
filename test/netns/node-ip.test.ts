/**
 * `holdfast node-ip` on real links, addresses and routes. ip(8) makes each case of the upstream program in a network namespace. The tests
 * also cover the files of `set`. Cases that no kernel accepts are left out, with the reason.
 */

import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeNamespace, removeAll } from '../../src/lab/cable.ts'
import { inside, ip } from '../../src/lab/ip.ts'
import { HOLDFAST } from '../../src/lab/lab.ts'
import { type CaseLink, type CaseRoute, clusterCases } from '../support/cluster-cases.ts'
import { describeNetns } from '../support/require.ts'

type Case = {
  readonly vips: readonly string[]
  readonly preferIPv6: boolean
  readonly networkType?: string
  readonly links: readonly CaseLink[]
  readonly routes: readonly CaseRoute[]
}
type Answer = { readonly status: number | null; readonly stdout: string; readonly stderr: string }

const isIpv6 = (text: string): boolean => text.includes(':')

/** Returns the routes of a case. A case without a gateway gets a default route for each family of the link. */
function routeCommands({ link, dst, proto, priority, gw }: CaseRoute, { addrs }: CaseLink): string[] {
  const command = (v6: boolean, destination: string) =>
    `${v6 ? '-6 ' : ''}route append ${destination} ${gw === null ? '' : `via ${gw}`} dev ${link} proto ${proto === 'ra' ? 'ra' : 'static'} ` +
    `metric ${priority}${gw === null ? '' : ' onlink'}`
  // The kernel itself makes these routes for the addresses.
  if (dst !== null) return proto === 'ra' ? [command(isIpv6(dst), dst)] : []
  const families = gw === null ? [...new Set(addrs.map(({ cidr }) => isIpv6(cidr)))] : [isIpv6(gw)]
  return families.map((v6) => command(v6, 'default'))
}

function addressCommand(link: string, { cidr, deprecated, label }: CaseLink['addrs'][number]): string {
  const v6 = isIpv6(cidr)
  // ip(8) accepts only a label that begins with the name of the link.
  const named = v6 || label === '' ? '' : `label ${label.startsWith(link) ? label : `${link}:${label}`.slice(0, 15)}`
  return `address add ${cidr} dev ${link} ${named} ${v6 ? 'nodad' : ''} ${deprecated ? 'preferred_lft 0' : ''}`
}

function layOut({ links, routes }: Case): string {
  const name = makeNamespace()
  const real = [...links].filter((link) => link.name !== 'lo').sort((one, other) => one.index - other.index)
  const commands = real.flatMap((link, i) => {
    const v4 = link.addrs.filter(({ cidr }) => !isIpv6(cidr))
    // The kernel lists the newest IPv6 address first, so the addresses are added in reverse order.
    const v6 = link.addrs.filter(({ cidr }) => isIpv6(cidr)).toReversed()
    return [
      `link add ${link.name} type veth peer name far${i}`,
      `link set ${link.name} addrgenmode none up`,
      `link set far${i} addrgenmode none up`,
      ...[...v4, ...v6].map((each) => addressCommand(link.name, each)),
    ]
  })
  const ways = routes.flatMap((route) => {
    const link = real.find((one) => one.name === route.link)
    return link === undefined ? [] : routeCommands(route, link)
  })
  ip(name, ...commands)
  for (const way of new Set(ways)) ip(name, way)
  return name
}

function nodeIp(namespace: string, ...words: readonly string[]): Answer {
  const env = { ...process.env, NODEIP_HINT: '', KUBELET_NODEIP_HINT: '' }
  const argv = ['netns', 'exec', namespace, HOLDFAST, 'node-ip', ...words]
  return spawnSync('ip', argv, { encoding: 'utf8', env, timeout: 20_000 })
}

const NO_KERNEL: Readonly<Record<string, string>> = {
  'default-v6': 'an address ::ffff:… on a link is refused',
  'default-ds': 'an address ::ffff:… on a link is refused',
  'default-ds-prefer6': 'an address ::ffff:… on a link is refused',
  'route-ds-v6vip': 'an address ::ffff:… on a link is refused',
  'route-v6-temporary': 'an address ::ffff:… on a link is refused',
  'sel-quirk-mapped-v6': 'an address ::ffff:… on a link is refused',
}
/** Intended differences from the upstream program, by case (test/unit/cluster/node-ip-selection.test.ts). */
const OURS: Readonly<Record<string, readonly string[]>> = {
  'sel-quirk-opposite-is-vip': ['10.0.0.5', 'fd00::5'],
  'sel-quirk-hint-and-vip': ['192.168.1.2'],
}

const chosenOf = (expected: unknown): readonly string[] =>
  Array.isArray(expected) ? expected : ((expected as { chosen?: readonly string[] } | undefined)?.chosen ?? [])

const all = ['addressesRouting', 'addressesDefault', 'selectNodeIPs'].flatMap((fn) => clusterCases<Case, unknown>(fn))

describeNetns('holdfast node-ip on a real kernel', () => {
  afterAll(removeAll)

  test.each(all.filter(({ id }) => !(id in NO_KERNEL)).map((one) => [one.id, one] as const))(
    'shows the same address as the upstream program: %s',
    (id, one) => {
      const { vips, preferIPv6, networkType = 'none' } = one as unknown as Case
      const namespace = layOut(one as unknown as Case)
      const flags = [...(preferIPv6 ? ['-6'] : []), '-n', networkType, '--json']
      const { status, stdout, stderr } = nodeIp(namespace, 'explain', ...flags, ...vips)
      const wanted = OURS[id] ?? chosenOf(one.expect)
      const tables = () => `${ip(namespace, 'address')}\n${ip(namespace, 'route')}\n${ip(namespace, '-6 route')}`
      expect(JSON.parse(stdout || '{}').chosen, `${stdout}${stderr}\n${tables()}`).toEqual(wanted)
      expect(status).toBe(wanted.length > 0 ? 0 : 1)
    },
  )

  describe('holdfast node-ip on a node with two links', () => {
    const both: Case = {
      vips: [],
      preferIPv6: false,
      links: [
        { name: 'eth0', index: 2, addrs: ['10.0.0.5/24', 'fd00::5/64'] },
        { name: 'eth1', index: 3, addrs: ['192.168.1.2/24'] },
      ].map(({ addrs, ...link }) => ({
        ...link,
        addrs: addrs.map((cidr) => ({ cidr, deprecated: false, label: '' })),
      })),
      routes: [{ link: 'eth0', dst: null, proto: 'static', priority: 100, gw: '10.0.0.1' }],
    }
    let root = ''
    let namespace = ''
    const put = (path: string, text: string) => {
      mkdirSync(join(root, path, '..'), { recursive: true })
      writeFileSync(join(root, path), text)
    }
    const read = (path: string) => readFileSync(join(root, path), 'utf8')
    const call = (...words: readonly string[]) => nodeIp(namespace, ...words, '--root', root)

    beforeEach(() => {
      root = mkdtempSync(join(tmpdir(), 'holdfast-node-ip-'))
      namespace = layOut(both)
    })
    afterEach(() => rmSync(root, { recursive: true, force: true }))

    test('show prints the first chosen address, or the reason if there is none', () => {
      expect(call('show', '10.0.0.100')).toMatchObject({ status: 0, stdout: '10.0.0.5\n', stderr: '' })
      expect(call('show', '-6')).toMatchObject({ stdout: 'fd00::5\n' })
      ip(namespace, 'route del default')
      const none = call('show')
      expect(none).toMatchObject({ status: 1, stdout: '' })
      expect(none.stderr).toMatch(/^holdfast: no address: none in the network of a hint or VIP/)
    })

    test('set writes whole files that every user may read, once in each boot', () => {
      const first = spawnSync(
        'sh',
        ['-c', `umask 077; exec ip netns exec ${namespace} ${HOLDFAST} node-ip set --root ${root} 10.0.0.100`],
        {
          encoding: 'utf8',
        },
      )
      expect(first, first.stderr).toMatchObject({ status: 0 })
      expect(first.stdout.split('\n')[0]).toBe('10.0.0.5 fd00::5')
      expect(read('run/nodeip-configuration/primary-ip')).toBe('10.0.0.5')
      expect(read('run/nodeip-configuration/ipv6')).toBe('fd00::5')
      expect(read('etc/systemd/system/kubelet.service.d/20-nodenet.conf')).toBe(
        '[Service]\nEnvironment="KUBELET_NODE_IP=10.0.0.5" "KUBELET_NODE_IPS=10.0.0.5,fd00::5"\n',
      )
      expect((statSync(join(root, 'run/nodeip-configuration/primary-ip')).mode & 0o777).toString(8)).toBe('644')
      expect(inside(namespace, ['find', root, '-name', '*holdfast-new*'])).toBe('')

      ip(namespace, 'address del 10.0.0.5/24 dev eth0')
      const again = call('set', '10.0.0.100')
      expect(again).toMatchObject({ status: 0 })
      expect(again.stdout).toContain('10.0.0.5 was chosen earlier in this boot')
      expect(read('run/nodeip-configuration/primary-ip')).toBe('10.0.0.5')
      // The upstream program would read this file as no address, and would choose again.
      put('run/nodeip-configuration/primary-ip', '10.0.0.5\n')
      expect(call('set').stdout).toContain('was chosen earlier in this boot')
      put('run/nodeip-configuration/primary-ip', 'nonsense')
      expect(call('set', '192.168.1.0').stdout.split('\n')[0]).toBe('192.168.1.2')
    })

    test('set on the machine itself switches forwarding on for the chosen link', () => {
      const script = [
        'mount -t tmpfs none /run && mount -t tmpfs none /etc/systemd',
        'for name in eth0 eth1; do echo 0 > /proc/sys/net/ipv4/conf/$name/forwarding; done',
        `${HOLDFAST} node-ip set 10.0.0.100`,
        'cat /proc/sys/net/ipv4/conf/eth0/forwarding /proc/sys/net/ipv6/conf/eth0/forwarding',
        'cat /proc/sys/net/ipv4/conf/eth1/forwarding /run/nodeip-configuration/primary-ip',
      ].join(' && ')
      const lines = inside(namespace, ['unshare', '-m', 'sh', '-ec', script]).split('\n')
      expect(lines.slice(-4)).toEqual(['1', '1', '0', '10.0.0.5'])
    })

    /** Runs `set` on this machine itself, with a /run, an /etc/systemd and a view of /proc/sys that only this process has. */
    function setHere(...before: readonly string[]) {
      const primary = '/run/nodeip-configuration/primary-ip'
      const script = [
        'mount -t tmpfs none /run && mount -t tmpfs none /etc/systemd',
        ...before,
        `status=0; ${HOLDFAST} node-ip set 10.0.0.100 >/dev/null || status=$?`,
        `echo "$status $(cat ${primary} 2>/dev/null)"`,
      ].join('\n')
      const { stdout, stderr } = spawnSync('ip', ['netns', 'exec', namespace, 'unshare', '-m', 'sh', '-ec', script], {
        encoding: 'utf8',
      })
      return { stdout: stdout.trim(), stderr }
    }
    const forwarding = (value: string) =>
      `for family in ipv4 ipv6; do echo ${value} > /proc/sys/net/$family/conf/eth0/forwarding; done`
    const READ_ONLY = 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys'

    test('with a read-only /proc/sys, set warns once and writes all files', () => {
      expect(setHere(forwarding('0'), READ_ONLY)).toEqual({
        stdout: '0 10.0.0.5',
        stderr: 'holdfast: forwarding on eth0 stays off: /proc/sys is read-only\n',
      })
      expect(setHere(forwarding('1'), READ_ONLY)).toEqual({ stdout: '0 10.0.0.5', stderr: '' })
    })

    test('if one file cannot be written, set writes no file and names the file', () => {
      const { stdout, stderr } = setHere(
        'mkdir -p /etc/systemd/system/crio.service.d /run/nodeip-configuration',
        'mount -t tmpfs -o ro none /etc/systemd/system/crio.service.d',
      )
      expect(stdout).toBe('1')
      expect(stderr).toMatch(
        /^holdfast: Cannot store the address 10\.0\.0\.5: EROFS: .*crio\.service\.d\/20-nodenet\.conf\.holdfast-new/,
      )
    })

    test('if forwarding fails for another reason, set ends with exit status 1 before it prints the address', () => {
      const { stdout, stderr } = setHere('mount -t tmpfs none /proc/sys/net/ipv4/conf')
      expect(stdout).toBe('1')
      expect(stderr).toMatch(/^holdfast: Cannot store the address 10\.0\.0\.5: ENOENT/)
    })

    test('a worker outside the network of the VIPs gets the marker file of a remote worker, and loses the marker inside the network', () => {
      const marker = join('run/nodeip-configuration', 'remote-worker')
      expect(call('set', '-p', 'BareMetal', '172.16.0.1')).toMatchObject({ status: 0 })
      expect(existsSync(join(root, marker))).toBe(true)
      rmSync(join(root, 'run/nodeip-configuration/primary-ip'))
      expect(call('set', '-p', 'BareMetal', '10.0.0.100').stdout).toContain(`removed ${join(root, marker)}`)
      expect(existsSync(join(root, marker))).toBe(false)
    })

    test('the hint in the file has precedence over the VIPs, and explain names the source of the hint', () => {
      put('etc/default/nodeip-configuration', 'NODEIP_HINT=192.168.1.0\n')
      const { status, stdout } = call('explain', '10.0.0.100')
      expect(status).toBe(0)
      expect(stdout.split('\n').map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
        `hint: 192.168.1.0 (NODEIP_HINT in ${join(root, 'etc/default/nodeip-configuration')})`,
        'VIPs: 10.0.0.100',
        ' 127.0.0.1 lo loopback',
        ' ::1 lo loopback',
        ' 10.0.0.5 eth0 not on eth1, in whose network the hint 192.168.1.0 is',
        ' fd00::5 eth0 not on eth1, in whose network the hint 192.168.1.0 is',
        '* 192.168.1.2 eth1 on eth1, in whose network the hint 192.168.1.0 is',
        'chosen: 192.168.1.2',
        '',
      ])
    })

    test('a hint before the VIPs on the command line is not taken for a VIP, and the choice is the same', () => {
      const vips = (...words: readonly string[]) => {
        const { hints, vips: listed, chosen } = JSON.parse(call('explain', '--json', ...words).stdout)
        return { hints, listed, chosen }
      }
      const unknown = vips('192.168.1.0', '10.0.0.100')
      expect(unknown).toEqual({ hints: [], listed: ['192.168.1.0', '10.0.0.100'], chosen: ['192.168.1.2'] })
      put('etc/default/nodeip-configuration', 'NODEIP_HINT=192.168.1.0\n')
      const known = { hints: ['192.168.1.0'], listed: ['10.0.0.100'], chosen: ['192.168.1.2'] }
      expect(vips('192.168.1.0', '10.0.0.100')).toEqual(known)
      expect(vips('10.0.0.100')).toEqual(known)
    })

    test('each wrong argument and file is named, and no file is written', () => {
      expect(call('set', '10.0.0.100/24')).toMatchObject({
        status: 64,
        stderr: 'holdfast: "10.0.0.100/24": not an IP address\n',
      })
      put('etc/default/nodeip-configuration', 'NODEIP_HINT=eth0\n')
      expect(call('set').stderr).toMatch(/NODEIP_HINT in .*: cannot use "eth0", expected an IP address/)
      rmSync(join(root, 'etc/default/nodeip-configuration'))
      // A regular file with the name of the folder causes an error for root as well.
      put('etc/systemd', '')
      chmodSync(join(root, 'etc/systemd'), 0o600)
      const failed = call('set')
      expect(failed).toMatchObject({ status: 1, stdout: '' })
      expect(failed.stderr).toMatch(/^holdfast: Cannot store the address 10\.0\.0\.5: /)
      expect(existsSync(join(root, 'run/nodeip-configuration/primary-ip'))).toBe(false)
    })

    test('an address that another host has is reported without a wait', () => {
      ip(namespace, 'address flush dev eth0')
      // Duplicate detection takes longer than any command waits. The command treats that like a found duplicate.
      inside(namespace, ['sh', '-c', 'cd /proc/sys/net/ipv6/conf/eth0 && echo 1 >accept_dad && echo 60 >dad_transmits'])
      ip(namespace, 'address add fd00::7/64 dev eth0')
      const { status, stderr } = call('show', '-6', 'fd00::64')
      expect([status, stderr]).toEqual([
        1,
        'holdfast: fd00::7 is still tentative, so it cannot be used; perhaps another host has it\n',
      ])
    })

    test('with -r, show waits for an address', async () => {
      ip(namespace, 'route del default')
      const later = new Promise<void>((resolve) => {
        setTimeout(() => resolve(void ip(namespace, 'route add default via 10.0.0.1')), 500)
      })
      const { spawn } = await import('node:child_process')
      const child = spawn('ip', ['netns', 'exec', namespace, HOLDFAST, 'node-ip', 'show', '-r', '--root', root])
      let out = ''
      child.stdout.on('data', (chunk) => {
        out += String(chunk)
      })
      await later
      await new Promise((resolve) => child.once('close', resolve))
      expect(out).toBe('10.0.0.5\n')
    })
  })
})
