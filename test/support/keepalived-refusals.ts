/**
 * Lists keepalived files with an error, and what keepalived 2.2.7 does with each. The results were recorded in a
 * network namespace with eth0 (10.44.0.1/24): the exit statuses of `keepalived -t -f FILE` and `keepalived -n -f FILE`,
 * and values of keepalived's dump (SIGUSR1). test/interop/keepalived-values.test.ts runs keepalived again and compares.
 */

type Parts = { readonly [key in 'state' | 'vrid' | 'priority' | 'interval' | 'interface' | 'more']?: string }

export const instanceOf = (parts: Parts = {}, name = 'VI_1', address = '10.44.0.100/24'): string => {
  const lines = {
    state: 'state BACKUP',
    interface: 'interface eth0',
    vrid: 'virtual_router_id 51',
    priority: 'priority 100',
    interval: 'advert_int 1',
    more: '',
    ...parts,
  }
  return `vrrp_instance ${name} {\n${Object.values(lines).join('\n')}\nvirtual_ipaddress {\n${address}\n}\n}\n`
}

/**
 * Files for which keepalived ends with a permanent error. `test` is the exit status of keepalived -t. The daemon's exit
 * status is 2.
 */
export const REFUSED: readonly { readonly title: string; readonly text: string; readonly test: number }[] = [
  ['virtual_router_ID', instanceOf({ vrid: 'virtual_router_ID 51' }), 5],
  ['no VRID', instanceOf({ vrid: '' }), 5],
  ['VRID 0', instanceOf({ vrid: 'virtual_router_id 0' }), 5],
  ['VRID 300', instanceOf({ vrid: 'virtual_router_id 300' }), 5],
  ['VRID x', instanceOf({ vrid: 'virtual_router_id x' }), 5],
  ['a VRID twice', instanceOf() + instanceOf({}, 'VI_2', '10.44.0.101/24'), 5],
  ['a sound instance beside one without VRID', instanceOf() + instanceOf({ vrid: '' }, 'VI_2', '10.44.0.101/24'), 5],
  ['no interface', instanceOf({ interface: '' }), 5],
  ['interface lo', instanceOf({ interface: 'interface lo' }), 5],
  ...[
    'priority',
    'state',
    'virtual_router_id',
    'interface',
    'advert_int',
    'version',
    'preempt_delay',
    'mcast_src_ip',
  ].map((keyword) => [`${keyword} without a value`, instanceOf({ more: keyword }), 2] as const),
  ['garp_master_delay without a value', instanceOf({ more: 'garp_master_delay' }), 2],
  ['auth_type without a value', instanceOf({ more: 'authentication {\nauth_type\nauth_pass 1\n}' }), 2],
  ['vrrp_version without a value', `global_defs {\nvrrp_version\n}\n${instanceOf()}`, 2],
].map(([title, text, test]) => ({ title: String(title), text: String(text), test: Number(test) }))

export type Used = {
  readonly priority?: number
  /** `Effective priority` in keepalived's dump, after a tracked script or file with weight 1 has been evaluated. */
  readonly effective?: number
  readonly fault?: true
  /** Advertisement interval in keepalived's dump, in milliseconds. */
  readonly interval?: number
  readonly state?: 'MASTER' | 'BACKUP'
  readonly version?: number
  readonly vrid?: number
  readonly garpDelay?: number
  readonly garpRepeat?: number
  readonly lowerDelay?: number
  readonly lowerRepeat?: number
  readonly ttl?: number
  readonly timeout?: number
  readonly pollInterval?: number
  readonly fall?: number
  readonly rise?: number
}

const priority = (line: string, state = 'BACKUP') => instanceOf({ priority: line, state: `state ${state}` })
const more = (line: string) => instanceOf({ more: line })
const script = (lines: string, track = 'c', priorityLine = 'priority 100', state = 'BACKUP') =>
  `global_defs {\nscript_user root\nenable_script_security\n}\nvrrp_script c {\nscript "/bin/false"\ninterval 1\nfall 1\n` +
  `${lines}\n}\n${instanceOf({ priority: priorityLine, state: `state ${state}`, more: `track_script {\n${track}\n}` })}`
const UNICAST = 'unicast_src_ip 10.44.0.1\nunicast_peer {\n10.44.0.2\n}'

/** Files with a wrong value, and the value that keepalived uses instead, as its dump shows. */
export const USED: readonly (readonly [title: string, text: string, used: Used])[] = [
  ['priority 300', priority('priority 300'), { priority: 100, state: 'BACKUP' }],
  ['priority 300 with state MASTER', priority('priority 300', 'MASTER'), { priority: 100, state: 'MASTER' }],
  ['priority 0 with state MASTER', priority('priority 0', 'MASTER'), { priority: 100 }],
  ['priority -1', priority('priority -1'), { priority: 100 }],
  ['priority high', priority('priority high'), { priority: 100 }],
  ['priority 0x64', priority('priority 0x64'), { priority: 100 }],
  ['priority 080', priority('priority 080'), { priority: 80 }],
  ['priority 120, then 300', priority('priority 120\npriority 300', 'MASTER'), { priority: 100 }],
  ['priority 300, then 120', priority('priority 300\npriority 120', 'MASTER'), { priority: 120 }],
  ['no priority with state MASTER', priority('', 'MASTER'), { priority: 255, state: 'MASTER' }],
  [
    'priority 300 with state MASTER and a script down',
    script('weight -20', 'c', 'priority 300', 'MASTER'),
    { priority: 100, effective: 80 },
  ],
  ['state BOGUS', instanceOf({ state: 'state BOGUS' }), { state: 'BACKUP' }],
  ['state MASTER, then BOGUS', instanceOf({ state: 'state MASTER\nstate BOGUS' }), { state: 'BACKUP', priority: 100 }],
  ['state master', instanceOf({ state: 'state master' }), { state: 'BACKUP' }],
  ['VRID 51, then 300', instanceOf({ vrid: 'virtual_router_id 51\nvirtual_router_id 300' }), { vrid: 51 }],
  ['advert_int 0', instanceOf({ interval: 'advert_int 0' }), { interval: 1000 }],
  ['advert_int 300', instanceOf({ interval: 'advert_int 300' }), { interval: 1000 }],
  ['advert_int x', instanceOf({ interval: 'advert_int x' }), { interval: 1000 }],
  ['advert_int 2, then x', instanceOf({ interval: 'advert_int 2\nadvert_int x' }), { interval: 2000 }],
  ['advert_int 0.4', instanceOf({ interval: 'advert_int 0.4' }), { interval: 1000 }],
  ['advert_int 1.5', instanceOf({ interval: 'advert_int 1.5' }), { interval: 2000 }],
  [
    'advert_int 41 in version 3',
    instanceOf({ interval: 'version 3\nadvert_int 41' }),
    { interval: 40_950, version: 3 },
  ],
  ['version 4', more('version 4'), { version: 2 }],
  ['version 3, then 1', more('version 3\nversion 1'), { version: 3 }],
  ['garp_master_delay x', more('garp_master_delay x'), { garpDelay: 0 }],
  ['garp_master_delay -2', more('garp_master_delay -2'), { garpDelay: 5 }],
  ['garp_master_repeat 0', more('garp_master_repeat 0'), { garpRepeat: 1 }],
  ['garp_master_repeat 3, then x', more('garp_master_repeat 3\ngarp_master_repeat x'), { garpRepeat: 1 }],
  ['garp_master_repeat -2', more('garp_master_repeat -2'), { garpRepeat: 5 }],
  ['garp_lower_prio_repeat x', more('garp_lower_prio_repeat x'), { lowerRepeat: 0 }],
  ['garp_lower_prio_repeat -1', more('garp_lower_prio_repeat -1'), { lowerRepeat: 5 }],
  ['garp_lower_prio_delay x', more('garp_lower_prio_delay x'), { lowerDelay: 0 }],
  ['unicast_ttl 300', more(`unicast_ttl 300\n${UNICAST}`), { ttl: 255 }],
  ['unicast_ttl 40, then x', more(`unicast_ttl 40\nunicast_ttl x\n${UNICAST}`), { ttl: 40 }],
  [
    'a unicast peer of another family beside a sound one',
    more(UNICAST.replace('{', '{\nfd44::2\nhello')),
    { ttl: 255 },
  ],
  ['unicast_src_ip hello', more(UNICAST.replace('10.44.0.1', 'hello')), { ttl: 255 }],
  ['weight -5x of a script', script('weight -5x'), { effective: 95 }],
  ['weight x of a script', script('weight x'), { fault: true }],
  ['weight 300 of a script that is down', script('weight 300'), { effective: 100 }],
  ['weight -254 of a script', script('weight -254'), { effective: 1 }],
  ['weight -300 where a script is tracked', script('weight -20', 'c weight -300'), { effective: 80 }],
  ['weight x where a script is tracked', script('weight 10', 'c weight x'), { fault: true }],
  ['weight -5x where a script is tracked', script('weight 10', 'c weight -5x'), { effective: 95 }],
  ['another word where a script is tracked', script('weight -20', 'c heavy 3'), { effective: 100 }],
  ['weight without a value where a script is tracked', script('weight -20', 'c weight'), { effective: 100 }],
  ['fall 3, then 0', script('weight -20\nfall 3\nfall 0'), { effective: 80, fall: 1 }],
  ['rise 0', script('weight -20\nrise 0'), { effective: 80, rise: 1 }],
  ['interval 3, then 0', script('weight -20\ninterval 3\ninterval 0'), { pollInterval: 1 }],
  ['interval 3, then 5000000', script('weight -20\ninterval 3\ninterval 5000000'), { pollInterval: 3 }],
  ['timeout 5, then x', script('weight -20\ntimeout 5\ntimeout x'), { timeout: 1 }],
  ['timeout 5, then 5000000', script('weight -20\ntimeout 5\ntimeout 5000000'), { timeout: 5 }],
]
