/**
 * Each keyword of the table, alone in a file that is otherwise the same: the key that it becomes, or a warning with its
 * position. A keyword without a row here fails.
 */
import { describe, expect, test } from 'vitest'
import type { ParsedConfig } from '../../../src/config/configuration.ts'
import type { Block, Keyword } from '../../../src/config/keepalived/keywords/keyword.ts'
import { KEYWORDS } from '../../../src/config/keepalived/keywords/keywords.ts'
import { resolveRouters } from '../../../src/config/resolve.ts'
import { FILE, read } from '../../support/keepalived-text.ts'

/** File with the tested line at `@@`, and with other instances and trackers. */
const FRAMES: Readonly<Record<Block, string>> = {
  file: '@@\n',
  global_defs: 'global_defs {\n@@\n}\n',
  vrrp_instance: '',
  authentication: '',
  vrrp_sync_group: '',
  vrrp_script: 'vrrp_script s2 {\nscript "/bin/true"\n@@\n}\n',
  track_file: 'track_file f2 {\nfile /f2\n@@\n}\n',
  vrrp_track_process: 'vrrp_track_process p2 {\nprocess sshd\n@@\n}\n',
  garp_group: 'garp_group {\ninterface eth0\n@@\n}\n',
}

/** Places for the tested line in instance A, for each block. Instance B shows that the other instances still run. */
const REST = `
vrrp_script s1 {
  script "/bin/true one"
}
track_file f1 {
  file /f1
}
vrrp_track_process p1 {
  process haproxy
}
vrrp_instance A {
  interface eth0
  virtual_router_id 1
  advert_int 2
  track_script {
    TRACK_SCRIPT
  }
  track_file {
    TRACK_FILE
  }
  track_process {
    TRACK_PROCESS
  }
  virtual_ipaddress {
    10.0.0.9
  }
INSTANCE
}
vrrp_instance B {
  interface eth1
  virtual_router_id 2
  virtual_ipaddress {
    10.0.1.9
  }
}
vrrp_sync_group G {
  group {
    A
    B
  }
GROUP
}
`

function fileWith(block: Block, line: string): string {
  const tracked = (of: Block, name: string) => (of === block ? name : '')
  return (
    FRAMES[block].replace('@@', line) +
    REST.replace('TRACK_SCRIPT', tracked('vrrp_script', 's2'))
      .replace('TRACK_FILE', tracked('track_file', 'f2'))
      .replace('TRACK_PROCESS', tracked('vrrp_track_process', 'p2'))
      .replace(
        'INSTANCE',
        block === 'vrrp_instance' ? line : block === 'authentication' ? `authentication {\n${line}\n}` : '',
      )
      .replace('GROUP', block === 'vrrp_sync_group' ? line : '')
  )
}

function config(parsed: ParsedConfig) {
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems, null, 1))
  return parsed
}

const at = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((part, step) => {
    if (typeof part !== 'object' || part === null) return undefined
    const named = Array.isArray(part)
      ? part.find((each) => Reflect.get(each, 'name') === step || Reflect.get(each.spec ?? {}, 'name') === step)
      : undefined
    return named ?? Reflect.get(part, step)
  }, value)

const A = 'virtualRouters.A'
const S = 'healthchecks.s2.spec'
const F = 'healthchecks.f2.spec'
const P = 'healthchecks.p2.spec'
const SCRIPT = {
  kind: 'exec',
  argv: ['/bin/true', 'x'],
  environment: {},
  user: undefined,
  capabilities: 'keep',
  unsafe: 'run',
}

const C = 'vrrp_instance C {\ninterface eth2\nvirtual_router_id 3\nvirtual_ipaddress {\n10.0.2.9\n}\n'
const tracks = (healthcheck: string, weight: number, reverse = false) => [{ healthcheck, weight, reverse }]

/** Tested line, path of the result, and expected value. The keyword is the first word of the line, unless it is given. */
const CARRIED: readonly (readonly [Block, line: string, path?: string, expected?: unknown, keyword?: string])[] = [
  ['file', `${C}}`, 'virtualRouters.C.vrid', 3],
  ['file', `vrrp_sync_group H {\ngroup {\nC\n}\n}\n${C}}`, 'syncGroups.H.members', ['C']],
  ['file', `${C}track_script {\ns1\n}\n}`, 'healthchecks.s1.spec.probe.argv', ['/bin/true', 'one'], 'vrrp_script'],
  [
    'file',
    `${C}track_file {\nf1\n}\n}`,
    'healthchecks.f1.spec.probe',
    { kind: 'file', path: '/f1', content: 'weight' },
    'track_file',
  ],
  [
    'file',
    `vrrp_track_file old {\nfile /old\n}\n${C}track_file {\nold weight 2\n}\n}`,
    'virtualRouters.C.track',
    tracks('old', 2),
  ],
  ['file', `${C}track_process {\np1\n}\n}`, 'virtualRouters.C.track', tracks('p1', 0), 'vrrp_track_process'],
  ['file', 'garp_group {\ninterfaces {\neth0 eth5\n}\ngarp_interval 0.5\n}', `${A}.announce.spacing`, 500],
  ['file', 'global_defs {\nvrrp_version 3\n}', `${A}.version`, 3],

  ['global_defs', 'script_user nobody'],
  ['global_defs', 'enable_script_security'],
  ['global_defs', 'vrrp_version 3', `${A}.version`, 3],
  ['global_defs', 'vrrp_garp_master_delay 10', `${A}.announce.at`, [0, 10_000]],
  ['global_defs', 'vrrp_garp_master_repeat 2', `${A}.announce.copies`, 2],
  ['global_defs', 'vrrp_garp_master_refresh 60', `${A}.announce.refresh`, 60_000],
  ['global_defs', 'vrrp_garp_master_refresh_repeat 2', `${A}.announce.refreshCopies`, 2],
  ['global_defs', 'vrrp_garp_lower_prio_delay 7', `${A}.announce.onRival`, { copies: 5, delay: 7000 }],
  ['global_defs', 'vrrp_garp_lower_prio_repeat 0', `${A}.announce.onRival`, { copies: 0, delay: 5000 }],
  ['global_defs', 'vrrp_garp_interval 0.001', `${A}.announce.spacing`, 1],
  ['global_defs', 'vrrp_gna_interval 0.002', `${A}.announce.spacingNa`, 2],
  ['global_defs', 'vrrp_min_garp', `${A}.announce.at`, [0]],
  ['global_defs', 'vrrp_lower_prio_no_advert', `${A}.assertOnLower`, false],
  ['global_defs', 'vrrp_higher_prio_send_advert off', `${A}.lastAdvertisement`, false],
  ['global_defs', 'vrrp_check_unicast_src', `${A}.onlyListedPeers`, true],
  ['global_defs', 'default_interface eth7'],

  ['vrrp_instance', 'state MASTER', `${A}.startAs`, 'active'],
  ['vrrp_instance', 'interface eth3', `${A}.interface`, 'eth3'],
  ['vrrp_instance', 'virtual_router_id 77', `${A}.vrid`, 77],
  ['vrrp_instance', 'version 3', `${A}.version`, 3],
  ['vrrp_instance', 'native_ipv6'],
  ['vrrp_instance', 'priority 42', `${A}.priority`, 42],
  ['vrrp_instance', 'advert_int 3', `${A}.advertisementInterval`, 3000],
  [
    'vrrp_instance',
    'authentication {\nauth_type PASS\nauth_pass abc\n}',
    `${A}.authentication`,
    { type: 'simple', password: 'abc' },
  ],
  ['vrrp_instance', 'virtual_ipaddress {\n10.0.0.10\n}', `${A}.addresses.1.address`, '10.0.0.10'],
  ['vrrp_instance', 'virtual_ipaddress_excluded {\nfd00::9/64\n}', `${A}.excludedAddresses.0.address`, 'fd00::9'],
  [
    'vrrp_instance',
    'unicast_src_ip 10.0.0.1\nunicast_peer {\n10.0.0.2\n}',
    `${A}.transport.unicast.source`,
    '10.0.0.1',
  ],
  [
    'vrrp_instance',
    'unicast_peer {\n10.0.0.2 min_ttl 9 max_ttl 20\n}',
    `${A}.transport.unicast.peers`,
    [{ address: '10.0.0.2', priority: undefined, minTtl: 9, maxTtl: 20 }],
  ],
  ['vrrp_instance', 'unicast_ttl 9\nunicast_peer {\n10.0.0.2\n}', `${A}.transport.unicast.ttl`, 9],
  ['vrrp_instance', 'mcast_src_ip 10.0.0.7', `${A}.transport.multicast.source`, '10.0.0.7'],
  ['vrrp_instance', 'check_unicast_src', `${A}.onlyListedPeers`, true],
  [
    'vrrp_instance',
    'unicast_fault_no_peer\nunicast_src_ip 10.0.0.1',
    `${A}.fault`,
    `${FILE}:27: there are no unicast peers, and "unicast_fault_no_peer" is set`,
  ],
  ['vrrp_instance', 'nopreempt\npreempt', `${A}.preempt`, true, 'preempt'],
  ['vrrp_instance', 'nopreempt', `${A}.preempt`, false],
  ['vrrp_instance', 'preempt_delay 4.5', `${A}.preemptDelay`, 4500],
  ['vrrp_instance', 'garp_master_delay 0', `${A}.announce.at`, [0]],
  ['vrrp_instance', 'garp_master_repeat 0', `${A}.announce.copies`, 1],
  ['vrrp_instance', 'garp_master_refresh 30', `${A}.announce.refresh`, 30_000],
  ['vrrp_instance', 'garp_master_refresh_repeat 3', `${A}.announce.refreshCopies`, 3],
  ['vrrp_instance', 'garp_lower_prio_delay 1', `${A}.announce.onRival`, { copies: 5, delay: 1000 }],
  ['vrrp_instance', 'garp_lower_prio_repeat 2', `${A}.announce.onRival`, { copies: 2, delay: 5000 }],
  ['vrrp_instance', 'lower_prio_no_advert true', `${A}.assertOnLower`, false],
  ['vrrp_instance', 'higher_prio_send_advert', `${A}.lastAdvertisement`, true],
  ['vrrp_instance', 'v3_checksum_as_v2', `${A}.checksum`, 'message-only'],
  ['vrrp_instance', 'track_script {\ns1 weight 5 reverse\n}', `${A}.track`, tracks('s1', 5, true)],
  ['vrrp_instance', 'track_file {\nf1 weight 254\n}', `${A}.track`, tracks('f1', 254)],
  ['vrrp_instance', 'track_process {\np1\n}', `${A}.track`, tracks('p1', 0)],
  ['vrrp_instance', 'track_interface {\neth9 weight -20\n}', `${A}.track`, [{ interface: 'eth9', weight: -20 }]],
  ['vrrp_instance', 'notify_master "/bin/true x" nobody', `${A}.notify.active`, ['/bin/true', 'x']],
  ['vrrp_instance', 'notify_backup "/bin/true x"', `${A}.notify.backup`, ['/bin/true', 'x']],
  ['vrrp_instance', 'notify_fault true', `${A}.notify.fault`, ['/bin/true']],
  ['vrrp_instance', 'notify_stop \'/bin/true "a b"\'', `${A}.notify.stop`, ['/bin/true', 'a b']],
  ['vrrp_instance', 'notify /bin/true', `${A}.notify.change`, ['/bin/true']],

  ['authentication', 'auth_type PASS\nauth_pass abc', `${A}.authentication.type`, 'simple'],
  ['authentication', 'auth_pass secret99\nauth_type PASS', `${A}.authentication.password`, 'secret99'],

  ['vrrp_sync_group', 'group {\nA\n}', 'syncGroups.G.members', ['A', 'B', 'A']],
  ['vrrp_sync_group', 'track_script {\ns1\n}', 'syncGroups.G.track', tracks('s1', 0)],
  ['vrrp_sync_group', 'track_file {\nf1\n}', 'syncGroups.G.track', tracks('f1', 1)],
  ['vrrp_sync_group', 'track_process {\np1 weight 0\n}', 'syncGroups.G.track', tracks('p1', 0)],
  ['vrrp_sync_group', 'track_interface {\neth9\n}', 'syncGroups.G.track', [{ interface: 'eth9', weight: 0 }]],
  ['vrrp_sync_group', 'notify_master /bin/true', 'syncGroups.G.notify.active', ['/bin/true']],
  ['vrrp_sync_group', 'notify_backup /bin/true', 'syncGroups.G.notify.backup', ['/bin/true']],
  ['vrrp_sync_group', 'notify_fault /bin/true', 'syncGroups.G.notify.fault', ['/bin/true']],
  ['vrrp_sync_group', 'notify_stop /bin/true', 'syncGroups.G.notify.stop', ['/bin/true']],
  ['vrrp_sync_group', 'notify /bin/true', 'syncGroups.G.notify.change', ['/bin/true']],

  ['vrrp_script', 'script "/bin/true x"', `${S}.probe`, SCRIPT],
  ['vrrp_script', 'interval 2', `${S}.cadence`, { interval: 2000, fastInterval: 2000, jitter: 0 }],
  ['vrrp_script', 'timeout 3', `${S}.timeout`, 3000],
  ['vrrp_script', 'weight -2 reverse', `${A}.track`, tracks('s2', -2, true)],
  ['vrrp_script', 'rise 3', `${S}.rule.rise`, 3],
  ['vrrp_script', 'fall 4', `${S}.rule.fall`, 4],
  ['vrrp_script', 'user nobody', `${S}.probe.user`, 'nobody'],
  ['vrrp_script', 'init_fail', `${S}.rule.initial`, 'down'],

  ['track_file', 'file /other', `${F}.probe`, { kind: 'file', path: '/other', content: 'weight' }],
  ['track_file', 'weight 3 reverse', `${A}.track`, tracks('f2', 3, true)],

  ['vrrp_track_process', 'process /usr/sbin/nginx', `${P}.probe`, { kind: 'process', name: 'nginx', count: 1 }],
  ['vrrp_track_process', 'weight -254', `${A}.track`, tracks('p2', -254)],
  ['vrrp_track_process', 'quorum 2', `${P}.probe.count`, 2],
  ['vrrp_track_process', 'fork_delay 2', `${P}.rule.rise`, 3],
  ['vrrp_track_process', 'terminate_delay 0.5', `${P}.rule.fall`, 2],
  ['vrrp_track_process', 'delay 1', `${P}.rule.rise`, 2],

  ['garp_group', 'garp_interval 0.25', `${A}.announce.spacing`, 250],
  ['garp_group', 'gna_interval 0.25', `${A}.announce.spacingNa`, 250],
  ['garp_group', 'garp_interval 1', `${A}.announce.spacing`, 1000, 'interface'],
  ['garp_group', 'interfaces {\neth0\n}\ngarp_interval 1', `${A}.announce.spacing`, 1000],
]

const keywordOf = ([, line, , , keyword = /^\w+/.exec(line)?.[0] ?? '']: (typeof CARRIED)[number]) => keyword

/** Keywords that need others to have a result, or that make no difference here; they are tested below. */
const ELSEWHERE = ['script_user', 'enable_script_security', 'default_interface', 'native_ipv6']

describe('carried over', () => {
  test('every keyword that is carried over has a row in this file', () => {
    const rows = new Set(CARRIED.map((row) => `${row[0]}.${keywordOf(row)}`))
    const missing = KEYWORDS.filter(
      ({ handling, block, name }) => handling === 'carried' && !rows.has(`${block}.${name}`),
    )
    expect(missing).toEqual([])
  })

  const rows = CARRIED.map((row) => [row[0], keywordOf(row), row] as const)
  test.each(rows.filter(([, name]) => !ELSEWHERE.includes(name)))('%s: %s', (block, name, row) => {
    const [, line, path = '', expected] = row
    // The members of a group are one list. A name in it twice is a mistake that YAML refuses as well.
    if (block === 'vrrp_sync_group' && name === 'group') {
      expect(read(fileWith(block, line))).toHaveProperty('problems')
      return
    }
    const parsed = config(read(fileWith(block, line)))
    expect(at(parsed.config, path)).toEqual(expected)
    expect(at(config(read(fileWith(block, ''))).config, path)).not.toEqual(
      expected === true && name === 'preempt' ? false : name === 'preempt' || name === 'interface' ? 'never' : expected,
    )
  })

  test('script_user is the user of scripts and notify programs without one', () => {
    const text = `${C}track_script {\ns1\n}\nnotify /bin/true\n}\n`
    const { config: found } = config(
      read(
        `global_defs {\nscript_user nobody\nenable_script_security\n}\n${text}${REST.replace(/TRACK_\w+|INSTANCE|GROUP/g, '')}`,
      ),
    )
    expect(at(found, 'healthchecks.s1.spec.probe.user')).toBe('nobody')
    expect(at(found, 'virtualRouters.C.notify.user')).toBe('nobody')
  })

  test.each([
    ['', 'keep', 'keep'],
    ['script_user root', 'keep', 'keep'],
    ['script_user 0', 'keep', 'keep'],
    ['script_user nobody', undefined, undefined],
    ['script_user nobody', 'keep', 'keep', 'root'],
    ['', undefined, undefined, 'nobody'],
  ])(
    'programs of root keep the capabilities, and those of other users do not: %s',
    (global, script, notify, user = '') => {
      const own = user === '' ? '' : `user ${user}\n`
      const text = `global_defs {\n${global}\n}
vrrp_script s {\nscript "/bin/true"\n${own}}
${C}track_script {\ns\n}
notify /bin/true ${user}\n}\n`
      const { config: found } = config(read(text))
      expect(at(found, 'healthchecks.s.spec.probe.capabilities')).toBe(script)
      expect(at(found, 'virtualRouters.C.notify.capabilities')).toBe(notify)
    },
  )

  test.each([
    ['', '', 'run'],
    ['enable_script_security', '', 'skip'],
    ['enable_script_security', 'root', 'skip'],
    ['enable_script_security', '0', 'skip'],
    ['enable_script_security', 'nobody', 'run'],
    ['script_user nobody\nenable_script_security', '', 'run'],
    ['script_user nobody\nenable_script_security', 'root', 'skip'],
  ])('with %s and user "%s", a program that others can change has unsafe: %s', (global, user, word) => {
    const own = user === '' ? '' : `user ${user}\n`
    const text = `global_defs {\n${global}\n}
vrrp_script s {\nscript "/bin/true"\n${own}}
${C}track_script {\ns\n}
notify /bin/true ${user}\n}
vrrp_sync_group G {\ngroup {\nC\n}\nnotify /bin/true ${user}\n}\n`
    const { config: found } = config(read(text))
    expect(at(found, 'healthchecks.s.spec.probe.unsafe')).toBe(word)
    expect(at(found, 'virtualRouters.C.notify.unsafe')).toBe(word)
    expect(at(found, 'syncGroups.G.notify.unsafe')).toBe(word)
  })

  test('default_interface is that of an instance without one, and native_ipv6 repeats the family of the addresses', () => {
    const text = 'vrrp_instance C {\nvirtual_router_id 3\nnative_ipv6\nvirtual_ipaddress {\nfd00::9\n}\n}\n'
    const { config: found } = config(read(`global_defs {\ndefault_interface eth7\n}\n${text}`))
    expect(at(found, 'virtualRouters.C.interface')).toBe('eth7')
    expect(at(found, 'virtualRouters.C.version')).toBe(3)
  })
})

const plainOf = (parsed: ParsedConfig) => JSON.stringify(config(parsed).config)
/** Keywords that matter only with a certain value, or that change the rest of the file. */
const written = ({ name }: Keyword): string => `${name} x`
const others = (handling: Keyword['handling']) => KEYWORDS.filter((keyword) => keyword.handling === handling)
const handlingIn = (parsed: ParsedConfig, name: string) =>
  config(parsed).imported?.handlings.find(({ keyword }) => keyword === name || keyword.endsWith(`.${name}`))

describe('without effect: the configuration is the same, and it is listed', () => {
  test.each(others('noEffect').map((keyword) => [keyword.block, keyword.name, keyword] as const))(
    '%s: %s',
    (block, name, keyword) => {
      const parsed = read(fileWith(block, written(keyword)))
      expect(plainOf(parsed)).toBe(plainOf(read(fileWith(block, ''))))
      expect(handlingIn(parsed, name)).toMatchObject({ kind: 'noEffect', message: keyword.says })
      expect(config(parsed).warnings.filter(({ message }) => message.includes(name))).toEqual([])
    },
  )
})

describe('not supported: the same, and a warning with its line says what is missing', () => {
  test.each(
    others('notSupported')
      .filter(({ name }) => name !== 'init_file')
      .map((keyword) => [keyword.block, keyword.name, keyword] as const),
  )('%s: %s', (block, name, keyword) => {
    const parsed = read(fileWith(block, written(keyword)))
    expect(plainOf(parsed)).toBe(plainOf(read(fileWith(block, ''))))
    const handling = handlingIn(parsed, name)
    expect(handling).toMatchObject({ kind: 'notSupported', message: keyword.says })
    const warning = config(parsed).warnings.find(
      ({ message }) => message === `"${name}" is not supported: ${keyword.says}`,
    )
    expect(warning).toMatchObject({ file: FILE, line: handling?.at.line, severity: 'warning' })
  })

  test('no_track of an address on another interface gives a warning; without an interface it gives none', () => {
    const text = (line: string) =>
      `vrrp_instance C {\ninterface eth2\nvirtual_router_id 3\nvirtual_ipaddress {\n${line}\n}\n}\n`
    const told = (line: string) => config(read(text(line))).warnings.map(({ line: at, message }) => `${at}: ${message}`)
    expect(told('10.0.2.9 no_track dev eth3')).toEqual([
      '5: "no_track" of 10.0.2.9 is not supported: the instance is in fault while "eth3" is down',
    ])
    expect(told('10.0.2.9 no_track')).toEqual([])
  })

  test('init_file with 0 has no effect, because a missing file counts as 0', () => {
    expect(handlingIn(read(fileWith('track_file', 'init_file')), 'init_file')?.kind).toBe('noEffect')
    expect(handlingIn(read(fileWith('track_file', 'init_file overwrite')), 'init_file')?.kind).toBe('notSupported')
  })
})

describe('refused: the instance stays in fault with file and line, the other one runs', () => {
  test.each(others('refused').map((keyword) => [keyword.block, keyword.name, keyword] as const))(
    '%s: %s',
    (block, name, keyword) => {
      const weigh = name === 'sync_group_tracking_weight' || name === 'global_tracking'
      const text = fileWith(block, written(keyword)).replace(
        'track_script {\n    \n',
        weigh ? 'track_script {\n    s1 weight 5\n' : 'track_script {\n',
      )
      const parsed = read(text)
      const { virtualRouters } = config(parsed).config
      const [a, b] = ['A', 'B'].map((wanted) => virtualRouters.find((router) => router.name === wanted))
      const everywhere = block === 'global_defs' || block === 'file' || block === 'vrrp_sync_group'
      expect(a?.fault).toMatch(new RegExp(`^${FILE}:\\d+: `))
      expect(b?.fault !== undefined).toBe(everywhere)
      expect(config(parsed).imported?.refused).toBeGreaterThan(0)
    },
  )

  test.each(['down_timer_adverts 3', 'strict_mode off', 'mcast_dst_ip 224.0.0.18', 'old_unicast_checksum never'])(
    '%s says what holds anyway',
    (line) => {
      expect(plainOf(read(fileWith('vrrp_instance', line)))).toBe(plainOf(read(fileWith('vrrp_instance', ''))))
    },
  )
})

test.each([
  'vrrp_mcast_group4 224.0.0.18',
  'vrrp_mcast_group6 FF02::12',
  'vrrp_down_timer_adverts 3',
  'vrrp_strict off',
])('global_defs with %s, the default, changes nothing', (line) => {
  const parsed = read(fileWith('global_defs', line))
  expect(plainOf(parsed)).toBe(plainOf(read(fileWith('global_defs', ''))))
  expect(config(parsed).imported?.refused).toBe(0)
})

test('global_defs and garp_group without a block change nothing', () => {
  const at = (text: string) => plainOf(read(`${text}${fileWith('file', '')}`))
  expect(at('global_defs\ngarp_group\n')).toBe(at('\n\n'))
})

test('an instance has the name of its block without characters that a name cannot have, and a warning says so', () => {
  const parsed = config(read(fileWith('file', C.replace('C {', '"VI 1" {').concat('}'))))
  expect(parsed.config.virtualRouters.map(({ name }) => name)).toContain('VI_1')
  expect(parsed.warnings.map(({ message }) => message)).toContain('"VI 1" is called "VI_1" in holdfast')
})

test.each([
  ['vrrp_instance', 'it has no block'],
  ['vrrp_instance {\ninterface eth2\n}', 'it has no name'],
  [`${C}}\n${C}}`, 'the name is used already'],
])('a block of an instance is skipped: %s', (block, why) => {
  const { warnings } = config(read(fileWith('file', block)))
  expect(warnings.map(({ message }) => message)).toContain(
    `Cannot use this vrrp_instance: ${why}; the block is skipped, as in keepalived`,
  )
})

test.each(['priority 255', 'state MASTER'])('%s: an owner that installs its addresses, as in keepalived', (line) => {
  const parsed = config(read(fileWith('vrrp_instance', line)))
  expect(at(parsed.config, `${A}.priority`)).toBe(255)
  const [router] = resolveRouters(parsed.config, { interfaces: [] }).routers
  expect(router?.parameters).toMatchObject({ priority: 255, ownAddresses: 'installed' })
})

test('an unknown keyword is reported with its position, and its block is skipped', () => {
  const parsed = config(read(`foo {\n bar\n}\n${fileWith('vrrp_instance', 'baz 1')}`))
  expect(parsed.imported?.unknown).toBe(2)
  expect(parsed.warnings.map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual(
    expect.arrayContaining([
      '1:1 top level: keepalived has no keyword "foo" there; the line is ignored',
      expect.stringContaining('vrrp_instance: keepalived has no keyword "baz" there; the line is ignored'),
    ]),
  )
})
